// Building elements. Text is only ever set as text, never parsed as HTML.

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

export function fill(target, ...children) {
  target.replaceChildren(...children.filter((child) => child != null));
}

// To set the very value that is there makes the browser lay out the page, too.
export function write(input, value) {
  if (input.value !== String(value) || input.validity?.badInput) input.value = value;
}

let toastTimer;
// `stays`: until another comes.
export function toast(text, stays = false) {
  const place = byId("toast");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(toastTimer);
  if (!stays) toastTimer = setTimeout(() => place.classList.remove("shown"), 2500);
}

export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    toast(said);
  } catch {
    toast("The browser does not let this page copy; select the text instead.");
  }
}

export function download(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The bytes of a file, or of a part of it.
export const inBase64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(",")[1] ?? "");
  reader.onerror = () => failed(new Error(`${file.name} cannot be read here`));
  reader.readAsDataURL(file);
});
