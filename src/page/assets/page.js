"use strict";
// Draws plots into the elements of `root` that have their numbers as data-plot. A plot that is drawn again keeps its element, if only
// its values have changed.
const plotsIn = root => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let plots = [];
  let drawn = [];

  function scaled(value, step, units) {
    let unit = 0;
    while (Math.abs(value) >= step && unit + 1 < units.length) { value /= step; ++unit; }
    return Number(value.toPrecision(3)) + units[unit];
  }
  const written = {
    count: value => scaled(value, 1000, ["", "k", "M", "G"]),
    bytes: value => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]),
    seconds: value => Number(value.toPrecision(3)) + " s",
    share: value => Number((100 * value).toPrecision(3)) + " %",
    per_second: value => scaled(value, 1000, ["", "k", "M"]) + "/s",
    bytes_per_second: value => scaled(value, 1024, [" B", " KiB", " MiB", " GiB"]) + "/s",
  };
  const powers = Array.from({length: 50}, (_, i) => 2 ** i);
  function figure(unit) {
    return value => value === null || value === undefined ? "-" : written[unit](value);
  }
  function colours() {
    const style = getComputedStyle(document.documentElement);
    const lines = dark.matches ? ["#5b9be0", "#f0a35e", "#4cb368", "#d88ae0", "#e06c75", "#c9c15b", "#5bc8c8", "#a5adb8"]
                               : ["#2f6fb7", "#b3530e", "#23803b", "#8a3f96", "#c0323f", "#7a7000", "#0f7c7c", "#57606a"];
    return {text: style.getPropertyValue("--soft").trim(), grid: style.getPropertyValue("--line").trim(), lines};
  }
  function axis(palette, more) {
    return Object.assign({stroke: palette.text, grid: {stroke: palette.grid, width: 1}, ticks: {stroke: palette.grid, width: 1}}, more);
  }
  function curves(plot, palette) {
    const value = figure(plot.unit);
    return [{
      scales: {x: {time: false}, y: {range: (u, low, high) => [0, high > 0 ? (plot.unit === "share" ? Math.min(high * 1.1, 1) : high * 1.1) : 1]}},
      axes: [axis(palette, {values: (u, ticks) => ticks.map(tick => tick + " s")}),
             axis(palette, {size: 84, ...(plot.unit.startsWith("bytes") ? {incrs: powers} : {}), values: (u, ticks) => ticks.map(value)})],
      series: [{label: "at", value: (u, at) => at === null ? "-" : at.toFixed(2) + " s"},
               ...plot.series.map((one, i) => ({label: one.name, stroke: palette.lines[i % palette.lines.length], width: 2,
                                                points: {show: plot.x.length < 3}, value: (u, v) => value(v)}))],
    }, [plot.x, ...plot.series.map(one => one.values)]];
  }
  function histogram(plot, palette) {
    const label = at => plot.labels[at] === undefined ? "" : (plot.labels[at] === "more" ? "more" : "≤ " + plot.labels[at]);
    return [{
      scales: {x: {time: false, range: () => [-0.6, plot.labels.length - 0.4]}, y: {range: (u, low, high) => [0, high > 0 ? high * 1.1 : 1]}},
      axes: [axis(palette, {space: 70, incrs: [1, 2, 4, 8, 16], values: (u, ticks) => ticks.map(label), grid: {show: false}}),
             axis(palette, {size: 60, values: (u, ticks) => ticks.map(written.count)})],
      series: [{label: "range", value: (u, at) => at === null ? "-" : label(at)},
               {label: "how often", stroke: palette.lines[0], fill: palette.lines[0], paths: uPlot.paths.bars({size: [0.8, 60]}), points: {show: false}}],
    }, [plot.labels.map((_, i) => i), plot.counts]];
  }
  function make(plot, place, palette, shape) {
    const [options, data] = (plot.kind === "histogram" ? histogram : curves)(plot, palette);
    return {shape, plot: new uPlot(Object.assign({width: place.clientWidth, height: 220}, options), data, place)};
  }
  function update(old, plot, place) {
    place.append(old.plot.root);
    old.plot.setData(plot.kind === "histogram" ? [plot.labels.map((_, i) => i), plot.counts] : [plot.x, ...plot.series.map(one => one.values)]);
    return old;
  }
  function draw(next) {
    const palette = colours();
    const before = drawn;
    plots = next;
    drawn = plots.map((plot, i) => {
      const place = root.querySelector(`[data-plot="${i}"]`);
      const shape = JSON.stringify([place.getAttribute("aria-label"), plot.kind, plot.unit, plot.labels, plot.series && [plot.x.length < 3, ...plot.series.map(one => one.name)]]);
      const old = before.findIndex(one => one && one.shape === shape);
      return old < 0 ? make(plot, place, palette, shape) : update(before.splice(old, 1, null)[0], plot, place);
    });
    before.forEach(one => one && one.plot.destroy());
    fit();
  }
  function redraw() {
    drawn.splice(0).forEach(one => one.plot.destroy());
    draw(plots);
  }
  function fit() {
    drawn.forEach(({plot}) => {
      const width = plot.root.parentElement.clientWidth;
      if (width !== plot.width) plot.setSize({width, height: 220});
    });
  }
  addEventListener("resize", fit);
  dark.addEventListener("change", redraw);
  return {draw};
};
