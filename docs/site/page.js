/** What pages do: a lab that is folded away is loaded when it is opened, and keyboards and screen readers find their way. */
for (const folded of document.querySelectorAll("details.lab")) {
  folded.addEventListener("toggle", () => {
    const frame = folded.querySelector("iframe");
    if (!frame.src) frame.src = frame.dataset.src;
  });
}

/** What scrolls can be reached, and parts that lead somewhere have names of their own. */
const NAMES = { "nav.md-path": "Where this page is", "nav.md-code__nav": null, ".md-typeset__scrollwrap": "A table that scrolls" };

function mend() {
  for (const [what, name] of Object.entries(NAMES)) {
    for (const [at, element] of document.querySelectorAll(what).entries()) {
      if (element.dataset.mended) continue;
      element.dataset.mended = "yes";
      // Buttons of one block of code lead nowhere.
      if (name === null) element.setAttribute("role", "presentation");
      else element.setAttribute("aria-label", at ? `${name} (${at + 1})` : name);
      if (!element.matches("nav")) {
        element.tabIndex = 0;
        element.setAttribute("role", "region");
      }
    }
  }
}

mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
