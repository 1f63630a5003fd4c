"use strict";
(() => {
  const token = location.hash.slice(1);
  const byId = id => document.getElementById(id);
  const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));

  function ask(path, options) {
    return fetch(path, {...options, cache: "no-store", headers: {"X-Forebay-Token": token}});
  }
  function element(name, text, attributes) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return Object.assign(made, attributes);
  }

  // Shows pages in a copy of the template. Sections that have not changed keep their elements.
  function pageIn(root) {
    root.append(byId("page").content.cloneNode(true));
    const part = selector => root.querySelector(selector);
    const plots = plotsIn(root);
    function section(title, i) {
      const place = part(".sections");
      if (!place.children[i]) place.append(element("section"));
      return place.children[i];
    }
    return page => {
      part(".title").textContent = page.title;
      part(".subject").textContent = page.subject;
      part(".finding").textContent = page.finding;
      part(".action").hidden = !page.action;
      part(".action span").textContent = page.action;
      part("footer").textContent = page.footnote;
      part(".facts").replaceChildren(...page.facts.map(fact => {
        const group = element("div");
        group.append(element("dt", fact.label), element("dd", fact.value), element("dd", fact.note, {className: "note"}));
        return group;
      }));
      page.sections.forEach(({title, html}, i) => {
        const made = section(title, i);
        if (made.shown === title + html) return;
        made.shown = title + html;
        made.innerHTML = html;  // made by the page module, which escapes all texts
        made.prepend(element("h2", title));
      });
      [...part(".sections").children].slice(page.sections.length).forEach(one => one.remove());
      plots.draw(page.plots);
    };
  }

  function waveform(peaks) {
    const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    drawing.setAttribute("viewBox", `0 -1 ${peaks.length} 2`);
    drawing.setAttribute("preserveAspectRatio", "none");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", peaks.map((peak, i) => `M${i + 0.5} ${-Math.max(peak, 0.01)}V${Math.max(peak, 0.01)}`).join(""));
    drawing.append(path);
    return drawing;
  }
  const items = {
    pictures: item => [element("img", undefined, {src: item.src, alt: ""}), element("span", item.title)],
    sounds: item => [waveform(item.peaks), element("audio", undefined, {src: item.src, controls: true}), element("span", item.title)],
    texts: item => [element("pre", item.text), element("span", item.title)],
  };
  function showBatch(batch) {
    byId("batch").hidden = false;
    byId("place").textContent = `epoch ${batch.epoch}, step ${batch.step}: the first ${batch.shown} of ${batch.rows} samples`;
    byId("fields").replaceChildren(...batch.fields.flatMap(field => {
      const list = element("ul", undefined, {className: "items"});
      list.append(...field.items.map(item => {
        const entry = element("li");
        entry.append(...items[field.kind](item));
        return entry;
      }));
      return [element("h3", `${field.name}: ${field.type}`), list];
    }));
  }
  const listening = () => [...document.querySelectorAll("audio")].some(audio => !audio.paused);

  function showRanks(ranks) {
    byId("ranks").hidden = ranks.length < 2;
    if (byId("ranks").hidden) return;
    const labels = ranks[0].facts.map(fact => fact.label);
    byId("ranks").querySelector("thead tr").replaceChildren(...["rank", ...labels].map(label => element("th", label, {scope: "col"})));
    byId("ranks").querySelector("tbody").replaceChildren(...ranks.map(rank => {
      const row = element("tr"), name = element("th", undefined, {scope: "row"});
      name.append(rank.url ? element("a", `rank ${rank.rank}`, {href: rank.url, target: "_blank", rel: "noreferrer"})
                           : `rank ${rank.rank} (this)`);
      row.append(name, ...rank.facts.map((fact, i) => {
        const cell = element("td", fact.value, {className: "number"});
        cell.dataset.column = labels[i];
        return cell;
      }));
      return row;
    }));
  }

  const showNow = pageIn(byId("now"));
  byId("now").querySelector(".sections").before(byId("batch"), byId("ranks"));
  let showFound = null;
  function showStudy(study) {
    document.querySelectorAll("[data-study]").forEach(button => { button.disabled = study.state === "running"; });
    const seconds = Math.round(study.seconds);
    byId("progress").textContent = {none: "", running: `${study.what} is running, ${seconds} s so far; the trainer is paused.`,
                                    done: `${study.what} took ${seconds} s.`, failed: `${study.what} failed: ${study.error}`}[study.state];
    byId("found").hidden = study.state !== "done";
    if (study.state !== "done") return;
    showFound ||= pageIn(byId("found"));
    showFound(study.page);
  }

  function lost(why) {
    byId("now").classList.add("stale");
    byId("now").querySelector(".subject").textContent = why;
  }
  const answered = (path, options) => ask(path, options).catch(() => null);
  async function showFigures() {
    const answer = await answered("figures");
    if (!answer) return lost("No answer: the loader is closed, or its program has ended.");
    if (!answer.ok) return lost(await answer.text());
    const figures = await answer.json();
    byId("now").classList.remove("stale");
    showNow(figures.page);
    showRanks(figures.ranks);
    showStudy(figures.study);
    if (byId("follow").checked && !listening() && figures.batch > seen) {
      const batch = await answered("batch");
      if (batch && batch.ok) showBatch(await batch.json());
      seen = figures.batch;
    }
  }
  let seen = 0;
  async function follow() {
    while (true) {
      if (!document.hidden) await showFigures();
      await pause(1000);
    }
  }
  document.querySelectorAll("[data-study]").forEach(button => button.addEventListener("click", async () => {
    button.disabled = true;
    const answer = await answered("study", {method: "POST", body: JSON.stringify({what: button.dataset.study})});
    if (answer && !answer.ok) byId("progress").textContent = await answer.text();
  }));
  addEventListener("hashchange", () => location.reload());  // another token
  follow();
})();
