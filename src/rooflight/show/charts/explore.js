"use strict";
/* The page with sliders (explore.py): looks up what was computed when the page was written, and computes nothing of it.
 *
 * Three blocks of the page are deflated: the drawing library, which runs under its hash; the drawings, Vega documents by
 * the id of the element that holds them; and the tables (packed.py has their form):
 *   batches, contexts      what the sliders choose from; asked: where each scenario stands as it was asked
 *   together, along        rows of charts of all scenarios: at every point, at every context; last as they were asked
 *   each                   of one scenario: charts and along alike, words, its row of the run table, its operators
 */
(async () => {
  const element = (id) => document.getElementById(id);
  const state = { batch: 0, context: 0, focus: 0, asked: true };
  const views = {};
  const known = {}; // names of each drawing's datasets
  let tables = null;

  async function inflated(id) {
    const bytes = Uint8Array.from(atob(element(id).textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  }

  async function draw() {
    const [library, drawings] = await Promise.all([inflated("library"), inflated("drawings")]);
    const script = document.createElement("script");
    script.textContent = library;
    document.head.append(script);
    for (const [id, drawing] of Object.entries(JSON.parse(drawings))) {
      const result = await vegaEmbed(`#${id}`, drawing, {
        mode: "vega", ast: true, actions: false, renderer: "svg", defaultStyle: false, logLevel: 1,
        tooltip: { disableDefaultStyle: true },
      });
      views[id] = result.view;
      known[id] = new Set(drawing.data.map((dataset) => dataset.name));
      await new Promise((painted) => { setTimeout(painted); });
    }
  }

  /* The rows of a packed dataset at a point. */
  function rowsAt(table, point) {
    const which = table.at ? table.at[point] : point;
    const same = typeof table.rows === "number";
    if (!same && !table.starts) {
      table.starts = [0];
      for (const count of table.rows) table.starts.push(table.starts[table.starts.length - 1] + count);
    }
    const start = same ? which * table.rows : table.starts[which];
    const end = same ? start + table.rows : table.starts[which + 1];
    const rows = [];
    for (let at = start; at < end; at += 1) {
      const row = {};
      for (const [name, column] of Object.entries(table.fields)) row[name] = valueAt(column, at);
      rows.push(row);
    }
    return rows;
  }

  function valueAt(column, at) {
    if (Array.isArray(column)) return column[at];
    if ("all" in column) return column.all;
    return column.of[at] === null ? null : tables.strings[column.of[at]];
  }

  /* Where a scenario stands: at the sliders, or as it was asked. */
  const placeOf = (number) => (state.asked ? tables.asked[number] : [state.batch, state.context]);
  const pointOf = ([batch, context]) => batch * tables.contexts.length + context;

  const narrow = () => document.documentElement.clientWidth < 620;

  function show() {
    const look = narrow() ? "narrow" : "wide";
    const place = placeOf(state.focus);
    const all = state.asked ? tables.batches.length * tables.contexts.length : pointOf(place);
    const each = tables.each[state.focus];
    const sources = [
      [tables.together, all],
      [tables.along, state.asked ? tables.contexts.length : state.context],
      [each.charts, pointOf(place)],
      [each.along, place[1]],
    ];
    const batches = new Set(tables.asked.map((_, number) => tables.batches[placeOf(number)[0]]));
    const marked = [...batches].map((x) => ({ x }));
    for (const [id, view] of Object.entries(views)) {
      for (const [charts, point] of sources) {
        for (const part of ["both", look]) {
          for (const [name, table] of Object.entries(charts[id]?.[part] || {})) {
            if (known[id].has(name)) view.data(name, rowsAt(table, point));
          }
        }
      }
      if (known[id].has("here")) view.data("here", marked);
      view.runAsync();
    }
    say(each, pointOf(place));
    element("asked").setAttribute("aria-pressed", state.asked);
    for (const axis of ["batch", "context"]) slide(axis, place[axis === "batch" ? 0 : 1]);
  }

  const shown = (axis, at) => tables[axis][at].toLocaleString("en");

  function slide(axis, at) {
    const slider = element(axis);
    const said = shown(axis === "batch" ? "batches" : "contexts", at);
    state[axis] = at;
    slider.value = at;
    slider.setAttribute("aria-valuetext", said);
    element(`${axis}-value`).textContent = said;
  }

  function say(each, point) {
    for (const [id, text] of Object.entries(rowsAt(each.words, point)[0])) element(id).textContent = text;
    fill(document.querySelector("#operators tbody"), rowsAt(each.operators, point).map((row) =>
      ["mark", "name", "bound", "intensity", "time", "share_text"].map((field) => cell("td", row[field]))));
    const rows = document.querySelectorAll("#runs tbody tr");
    const heads = document.querySelectorAll("#runs thead th").length;
    tables.each.forEach((one, number) => {
      const run = rowsAt(one.run, pointOf(placeOf(number)));
      const cells = run.map((figure) => {
        const made = cell("td", figure.text);
        made.append(cell("small", figure.beside), cell("small", figure.goal));
        made.classList.toggle("missed", figure.missed);
        if (run.length === 1) { // why there are no figures, as wide as all of them
          made.colSpan = heads - 1;
          made.className = "trouble";
        }
        return made;
      });
      rows[number].replaceChildren(rows[number].firstElementChild, ...cells);
      rows[number].querySelector(".at").textContent =
        `batch ${shown("batches", placeOf(number)[0])}, ${shown("contexts", placeOf(number)[1])} of context`;
      rows[number].classList.toggle("focus", tables.each.length > 1 && number === state.focus);
    });
    for (const [id, head] of Object.entries(each.heads)) element(id).closest("section").querySelector(".of").textContent = head;
    for (const none of document.querySelectorAll(".none")) none.hidden = rowsAt(each.operators, point).length > 0;
  }

  function cell(kind, text) {
    const made = document.createElement(kind);
    made.textContent = text;
    return made;
  }

  function fill(body, rows) {
    body.replaceChildren(...rows.map((cells) => {
      const line = document.createElement("tr");
      line.append(...cells);
      return line;
    }));
  }

  /* One picture a frame, however many events. */
  let waiting = false;
  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; show(); });
  }

  function listen() {
    for (const axis of ["batch", "context"]) {
      element(axis).addEventListener("input", (event) => {
        state[axis] = Number(event.target.value);
        state.asked = false;
        soon();
      });
    }
    for (const radio of document.querySelectorAll("input[name=focus]")) {
      radio.addEventListener("change", () => { state.focus = Number(radio.value); soon(); });
    }
    element("asked").addEventListener("click", () => { state.asked = true; soon(); });
    addEventListener("resize", soon);
    for (const one of document.querySelectorAll("#controls :disabled")) one.disabled = false;
  }

  try {
    await draw();
    tables = JSON.parse(await inflated("tables"));
    state.focus = tables.focus;
    listen();
    if (narrow()) show(); // drawn for a wide page, as was asked
    document.documentElement.dataset.ready = "";
  } catch (error) {
    element("trouble").hidden = false;
    throw error;
  }
})();
