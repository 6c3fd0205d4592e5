// Search, folding, and values under the pointer. Without it everything is on the page, open and in order.
(() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const words_of = (element) => (element.words ??= element.textContent.toLowerCase());

  // Search: every word somewhere in an experiment; of its tables the rows that have them, unless its title does.
  const tools = document.getElementById("tools");
  const find = document.getElementById("find");
  const found = document.getElementById("found");
  const sections = all("section.experiment");
  const search = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (element) => words.every((word) => words_of(element).includes(word));
    let shown = 0;
    for (const section of sections) {
      const fits = has(section);
      section.hidden = !fits;
      shown += fits;
      for (const place of all(`[data-of="${section.id}"]`)) place.hidden = !fits;
      const by_title = words.length === 0 || has(section.querySelector("h2"));
      const rows = all("table.rows tbody tr", section);
      const some = !by_title && rows.some(has);
      for (const row of rows) row.hidden = some && !has(row);
      for (const fold of all("details", section)) {
        fold.was ??= fold.open;
        const is_whole = fold.parentElement === section;
        fold.open = words.length === 0 ? fold.was : is_whole || (!by_title && has(fold));
        if (words.length === 0) delete fold.was;
      }
    }
    found.textContent = words.length ? `${shown} of ${sections.length} experiments` : "";
  };
  if (tools && find) {
    tools.hidden = false;
    find.addEventListener("input", search);
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !/^(?:INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
        event.preventDefault();
        find.focus();
      } else if (event.key === "Escape" && event.target === find) {
        find.value = "";
        search();
      } else if (event.key === "Enter" && event.target === find) {
        sections.find((section) => !section.hidden)?.scrollIntoView();
      }
    });
    for (const button of all("button[data-fold]", tools)) {
      button.addEventListener("click", () => {
        for (const section of sections) section.querySelector("details").open = button.dataset.fold === "open";
      });
    }
  }

  // A link into what is folded opens it.
  const named = () => {
    try {
      return document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return null; // An address that is not encoded right names nothing.
    }
  };
  const unfold = () => {
    const target = named();
    if (!target) return;
    target.querySelector("details")?.setAttribute("open", "");
    for (let above = target; above; above = above.parentElement) if (above.tagName === "DETAILS") above.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  // Values: what a mark says, beside the pointer or the finger, also when it is only near.
  const near = 14;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  for (const drawing of all("figure svg")) {
    const marks = all("title", drawing).filter((title) => title.parentElement !== drawing).map((title) => {
      const mark = title.parentElement;
      mark.said = title.textContent;
      // The browser would say it a second time.
      title.remove();
      return mark;
    });
    const nearest = (event) => {
      const over = event.target.closest("g, path, rect, line, text");
      for (let mark = over; mark && mark !== drawing; mark = mark.parentElement) if (mark.said) return mark;
      let best = null, least = near;
      for (const mark of marks) {
        const box = mark.getBoundingClientRect();
        const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        if (Math.hypot(x, y) < least) [best, least] = [mark, Math.hypot(x, y)];
      }
      return best;
    };
    const show = (event) => {
      const mark = nearest(event);
      tip.hidden = !mark;
      if (!mark) return;
      tip.textContent = mark.said;
      const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
      const above = event.clientY - tip.offsetHeight - 14;
      tip.style.left = `${Math.max(8, Math.min(event.clientX + 12, room))}px`;
      tip.style.top = `${above > 0 ? above : event.clientY + 18}px`;
    };
    drawing.addEventListener("pointermove", show);
    drawing.addEventListener("pointerdown", show);
    drawing.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") tip.hidden = true; });
  }
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest("figure svg")) tip.hidden = true; });
})();
