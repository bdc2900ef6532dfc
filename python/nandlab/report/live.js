/* Draws the charts of a page anew: as wide as the page, with tooltips, zoom, and the theme's colours.

   Each figure has its chart as an SVG, which stays for paper and for readers without scripts, and beside it
   the specification. A chart's plots get wider or narrower; its letters keep their size. */
"use strict";
(() => {
  const NARROW = 600, LEAST = 200, EDGE = 60, SHARE = 0.42, SIZE = 12, LINE = 14, TRIES = 5, THIN = 80, KEY = 60;
  const ink = document.createElement("canvas").getContext("2d");
  const long = (text, font) => { ink.font = font; return ink.measureText(text).width; };
  const FONT = `${SIZE}px Arial, Helvetica, Liberation Sans, sans-serif`;

  /* A text in lines that fit the room; a word that does not fit has its own line. */
  function lines(text, room, font = FONT) {
    const done = [];
    for (const word of text.split(" ")) {
      const longer = done.length ? `${done[done.length - 1]} ${word}` : word;
      if (done.length && long(longer, font) <= room) done[done.length - 1] = longer;
      else done.push(word);
    }
    return done;
  }

  const parts = spec => spec.vconcat || spec.hconcat || (spec.spec ? [spec.spec] : []);
  const layers = spec => spec.layer || [];
  const each = (spec, visit) => { visit(spec); [...parts(spec), ...layers(spec)].forEach(one => each(one, visit)); };

  /* How many plots stand side by side: a facet's columns, or a row of charts. */
  function columns_of(spec) {
    if (spec.hconcat) return spec.hconcat.length;
    if (!spec.facet) return 1;
    const field = spec.facet.column ? spec.facet.column : spec.facet.row ? null : spec.facet;
    if (!field) return 1;
    const count = new Set(rows(spec).map(row => row[field.field])).size;
    return Math.max(1, spec.facet.column ? count : Math.min(count, spec.columns || count));
  }

  const rows = spec => {
    const data = spec.data || {};
    return data.values || (spec.datasets || {})[data.name] || [];
  };

  /* Plots side by side, no more than fit. */
  function reflow(spec, room) {
    const at = columns_of(spec);
    const fit = Math.max(1, Math.floor((room - EDGE) / LEAST));
    if (at <= fit || (spec.facet && spec.facet.column)) return spec;
    if (spec.hconcat) return { ...spec, vconcat: spec.hconcat, hconcat: undefined };
    return { ...spec, columns: fit };
  }

  const own = spec => typeof spec.width === "number";

  /* Gives each plot this much more width. */
  function widen(spec, more) {
    each(spec, one => { if (own(one)) one.width = Math.max(THIN, one.width + more); });
  }

  /* Breaks the titles of axes and the names beside rows to the room they have. */
  function wrap(spec, room) {
    each(spec, view => {
      const wide = own(view) ? view.width : room, high = typeof view.height === "number" ? view.height : 0;
      for (const one of [view, ...layers(view)]) {
        const encoding = one.encoding || {};
        const { x, y } = encoding;
        if (x && typeof x.title === "string") x.title = lines(x.title, Math.max(wide, LEAST - 20));
        if (y && typeof y.title === "string" && high) y.title = lines(y.title, high + 20);
        if (y && Array.isArray(y.sort) && y.type === "nominal" && room < NARROW) names(view, y, room * SHARE);
      }
      if (view.title && room < NARROW) {
        const text = typeof view.title === "string" ? view.title : view.title.text;
        if (typeof text === "string") {
          const broken = lines(text, room - 60);
          view.title = typeof view.title === "string" ? { text: broken } : { ...view.title, text: broken };
        }
      }
    });
  }

  function names(view, y, room) {
    const broken = Object.fromEntries(y.sort.map(name => [name, lines(String(name), room)]));
    const most = Math.max(...Object.values(broken).map(each => each.length));
    y.axis = { ...y.axis, labelExpr: `(${JSON.stringify(broken)})[datum.value]`, labelLimit: 1000 };
    const step = view.height && view.height.step;
    if (step && most > 1) view.height = { ...view.height, step: Math.max(step, LINE * most + 6) };
  }

  const kind = view => typeof view.mark === "string" ? view.mark : view.mark && view.mark.type;
  const number = channel => channel && channel.type === "quantitative" && channel.axis !== null;

  /* A plot over two numbers moves and zooms; what leaves its axes is not seen. */
  function zoom(spec) {
    let next = 0;
    each(spec, view => {
      if (parts(view).length || view.mark === undefined && !view.layer) return;
      const drawn = layers(view).length ? layers(view) : [view];
      const lead = drawn.find(one => number({ ...view.encoding, ...one.encoding }.x) && number({ ...view.encoding, ...one.encoding }.y));
      if (!lead || lead.params) return;
      lead.params = [{ name: `zoom${next++}`, bind: "scales", select: { type: "interval", zoom: "wheel![event.ctrlKey]" } }];
      for (const one of drawn) one.mark = { ...(typeof one.mark === "string" ? { type: one.mark } : one.mark), clip: true };
    });
  }

  /* Names below columns stand steep where they have no room side by side. */
  function steep(spec) {
    each(spec, view => {
      for (const one of [view, ...layers(view)]) {
        const x = one.encoding && one.encoding.x;
        if (!x || x.type !== "nominal" || !Array.isArray(x.sort) || x.axis === null || !own(view)) continue;
        const band = view.width / x.sort.length, most = Math.max(...x.sort.map(name => long(String(name), FONT)));
        if (most <= band - 6 || (x.axis && x.axis.labelAngle)) continue;
        x.axis = { ...x.axis, labelAngle: -90, labelAlign: "right", labelBaseline: "middle", labelOverlap: band < LINE };
      }
    });
  }

  /* As many names of a legend in a line as fit. */
  function legends(spec, room) {
    let most = CONFIG.legend.columns;
    const channels = view => Object.values(view.encoding || {}).filter(one => one && one.scale && Array.isArray(one.scale.domain));
    each(spec, view => channels(view).filter(one => one.legend !== null && one.type === "nominal").forEach(one => {
      const wide = Math.max(...one.scale.domain.map(name => long(String(name), FONT))) + KEY;
      most = Math.min(most, Math.max(1, Math.floor(room / wide)));
    }));
    each(spec, view => channels(view).forEach(one => { if (one.legend && one.legend.columns > most) one.legend.columns = most; }));
    return most;
  }

  const CONFIG = JSON.parse(document.getElementById("look").textContent);
  const OPTIONS = { mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };

  /* The chart for a room, its plots wider by `more`. */
  function fitted(chart, room, more, zoomed) {
    const spec = reflow(structuredClone((room < NARROW && chart.narrow) || chart.wide), room);
    widen(spec, more);
    wrap(spec, room);
    steep(spec);
    if (zoomed) zoom(spec);
    const legend = { ...CONFIG.legend, columns: legends(spec, room) };
    return { ...spec, padding: 2, config: { ...CONFIG, legend, mark: { tooltip: true } } };
  }

  const shown = new Map();

  /* Draws until the width fits: what stands beside the plots is known only then. */
  async function draw(figure, zoomed = false) {
    const room = Math.floor(figure.clientWidth);
    if (!room) return;
    const live = figure.querySelector(".live");
    const chart = JSON.parse(figure.querySelector("script.chart").textContent);
    let more = 0;
    for (let tried = 0; tried < TRIES; tried++) {
      const spec = fitted(chart, room, more, zoomed);
      if (shown.has(figure)) shown.get(figure).finalize();
      shown.set(figure, await vegaEmbed(live, spec, OPTIONS));
      figure.classList.add("drawn");
      const missing = room - parseFloat(live.querySelector("svg").getAttribute("width"));
      const step = Math.floor(missing / columns_of(spec));
      if (step === 0 || step === 1 || !widths(spec).some(width => width > THIN || step > 0)) break;
      more += step;
    }
  }

  function widths(spec) {
    const found = [];
    each(spec, one => { if (own(one)) found.push(one.width); });
    return found;
  }

  function listen(figure) {
    const begin = event => {
      if (figure.dataset.zoomed || event.type === "wheel" && !event.ctrlKey) return;
      if (event.type === "wheel") event.preventDefault();
      figure.dataset.zoomed = "yes";
      draw(figure, true);
    };
    const live = figure.querySelector(".live");
    live.addEventListener("wheel", begin, { passive: false });
    live.addEventListener("pointerdown", event => { if (event.pointerType === "mouse") begin(event); });
    live.addEventListener("dblclick", () => { delete figure.dataset.zoomed; draw(figure); });
  }

  async function all() {
    for (const figure of document.querySelectorAll("figure:has(> script.chart)")) {
      try {
        await draw(figure, Boolean(figure.dataset.zoomed));
      } catch (error) {
        figure.classList.remove("drawn");
        console.error(error);
      }
    }
  }

  document.querySelectorAll("figure:has(> script.chart)").forEach(listen);
  let wide = window.innerWidth, waiting;
  window.addEventListener("resize", () => {
    if (window.innerWidth === wide) return;
    wide = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => { window.chartsDrawn = window.chartsDrawn.then(all); }, 150);
  });
  /* When it is done, every chart has the width of the page. */
  window.chartsDrawn = all();
})();
