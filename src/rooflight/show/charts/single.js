"use strict";
/* Draws the page's one picture; its colours are the page's variables, so that it follows light and dark by itself. */
(() => {
  const spec = JSON.parse(document.getElementById("data").textContent);
  vegaEmbed("#chart", spec, {
    ast: true, actions: false, renderer: "svg", defaultStyle: false, logLevel: 1, tooltip: { disableDefaultStyle: true },
  });
})();
