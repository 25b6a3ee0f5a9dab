// What the browser does by itself: the theme, the keyboard in the search, and the focus when a part of the
// page is drawn anew. Everything else is decided by the service.
"use strict";
window.factdrift = (() => {
  const themes = ["system", "light", "dark"];
  const root = document.documentElement;

  const chosen = () => {
    try { return localStorage.getItem("factdrift-theme") || "system"; } catch { return "system"; }
  };
  const apply = (theme) => {
    if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${theme}`;
  };
  apply(chosen());

  const links = () => [...document.querySelectorAll("#found a")];
  const close = () => {
    const found = document.getElementById("found");
    if (found && found.innerHTML) found.innerHTML = "";
    said();
  };
  const said = () => document.getElementById("search")?.setAttribute("aria-expanded", String(links().length > 0));
  const first = () => { const [link] = links(); if (link) link.click(); };

  document.addEventListener("click", (e) => {
    if (e.target.id === "theme") {
      const next = themes[(themes.indexOf(chosen()) + 1) % themes.length];
      try { localStorage.setItem("factdrift-theme", next); } catch { /* private: it holds for this page */ }
      apply(next);
    } else if (!e.target.closest?.(".search")) {
      close();
    }
  });

  document.addEventListener("keydown", (e) => {
    const at = e.target;
    const typing = at.matches?.("input, textarea, select");
    if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      document.getElementById("search")?.focus();
      return;
    }
    if (!at.closest?.(".search")) return;
    const all = links();
    const place = all.indexOf(at);
    if (e.key === "ArrowDown" && all.length) {
      e.preventDefault();
      all[Math.min(place + 1, all.length - 1)].focus();
    } else if (e.key === "ArrowUp" && place >= 0) {
      e.preventDefault();
      (place === 0 ? document.getElementById("search") : all[place - 1]).focus();
    } else if (e.key === "Escape") {
      const search = document.getElementById("search");
      search.value = "";
      search.dispatchEvent(new Event("input", { bubbles: true }));
      search.focus();
    }
  });

  // What was opened by hand takes the focus; what is closed gives it back to what opened it.
  let entered = null;
  const enter = () => {
    const opened = document.querySelector("[data-focus]");
    if (!opened) { entered = null; return; }
    if (opened.dataset.focus === entered) return;
    entered = opened.dataset.focus;
    (opened.querySelector("input:not([type=hidden]), textarea") || opened).focus();
  };
  document.addEventListener("click", (e) => {
    const closing = e.target.closest?.("[data-back]");
    if (closing) focused = closing.dataset.back;
  }, true);

  // Drawing anew takes away what had the focus; it goes to what now has the same id.
  let focused = null;
  document.addEventListener("focusin", (e) => { focused = e.target.id && e.target.closest(".region") ? e.target.id : null; });
  const tell = () => {
    // What a slider stands at is written in words elsewhere; whoever hears it is told the same.
    for (const slider of document.querySelectorAll("input[data-told]")) {
      const words = document.getElementById(slider.dataset.told)?.textContent;
      if (words && slider.getAttribute("aria-valuetext") !== words) slider.setAttribute("aria-valuetext", words);
    }
  };
  const watch = () => {
    apply(chosen());
    new MutationObserver(() => {
      said();
      tell();
      enter();
      if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus({ preventScroll: true });
    }).observe(document.getElementById("app"), { childList: true, subtree: true });
    const seen = new MutationObserver(() => {
      if (document.getElementById("theme")) { apply(chosen()); seen.disconnect(); }
    });
    seen.observe(document.getElementById("app"), { childList: true, subtree: true });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", watch); else watch();

  return { first };
})();
