"use strict";
/* Draws the charts of the page's data; where it has points, two sliders choose which one is shown.
 *
 * data.charts   element id -> {light, dark}: Vega-Lite documents
 * data.axes     {batch: [...], context: [...]}: what the sliders choose from; data.start: where they begin
 * data.points   "batch/context" -> {answer, table, wide: {id: {dataset: rows}}, narrow: the same, both: the same}
 * data.lines    context -> {id: {dataset: rows}}
 */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const views = {};
  const place = data.start ? { ...data.start } : {};
  const narrow = () => document.documentElement.clientWidth < 620;

  async function draw() {
    for (const [id, specs] of Object.entries(data.charts)) {
      const result = await vegaEmbed(`#${id}`, specs[dark.matches ? "dark" : "light"], {
        ast: true, actions: false, renderer: "svg", defaultStyle: false, logLevel: 1, tooltip: { disableDefaultStyle: true },
      });
      views[id] = result.view;
    }
    show();
  }

  const chosen = (axis) => data.axes[axis][place[axis]];

  function show() {
    if (!data.points) return;
    const point = data.points[`${chosen("batch")}/${chosen("context")}`];
    document.getElementById("answer").textContent = point.answer;
    for (const axis of ["batch", "context"]) {
      const slider = document.getElementById(axis);
      const said = chosen(axis).toLocaleString("en");
      slider.value = place[axis];
      slider.setAttribute("aria-valuetext", said);
      document.getElementById(`${axis}-value`).textContent = said;
    }
    const parts = [data.lines[chosen("context")], point.both, narrow() ? point.narrow : point.wide];
    for (const [id, view] of Object.entries(views)) {
      for (const part of parts) {
        for (const [name, rows] of Object.entries(part[id] || {})) view.data(name, rows);
      }
      if (id === "batch-chart") view.data("here", [{ x: chosen("batch") }]);
      view.runAsync();
    }
    fill(document.querySelector("#operators tbody"), point.table);
  }

  function fill(body, rows) {
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      for (const field of ["mark", "name", "bound", "intensity", "time", "share_text"]) {
        const cell = document.createElement(field === "mark" ? "th" : "td");
        cell.textContent = row[field];
        line.append(cell);
      }
      return line;
    }));
  }

  for (const axis of data.axes ? ["batch", "context"] : []) {
    const slider = document.getElementById(axis);
    slider.max = data.axes[axis].length - 1;
    slider.addEventListener("input", () => { place[axis] = Number(slider.value); show(); });
  }
  dark.addEventListener("change", draw);
  addEventListener("resize", show);
  draw();
})();
