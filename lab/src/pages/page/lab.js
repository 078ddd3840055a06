// The script of the lab's pages: reads a page again when the lab has changed, and switches between light and dark. Without it, the
// link "Refresh" does the first.
(() => {
  "use strict";
  const root = document.documentElement;

  // Light or dark: the same choice as on the page of a report.
  const KEY = "tare-theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      const value = localStorage.getItem(KEY);
      return value === "light" || value === "dark" ? value : null;
    } catch {
      return null;
    }
  };
  const theme = () => stored() ?? (dark.matches ? "dark" : "light");
  const apply = () => (root.dataset.theme = theme());
  apply();
  dark.addEventListener("change", apply);
  const button = document.getElementById("theme");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      try {
        localStorage.setItem(KEY, theme() === "dark" ? "light" : "dark");
      } catch {
        // Without storage there is no choice.
      }
      apply();
    });
  }

  const said = document.getElementById("live");
  if (!said) return;

  /** Between two readings of the page, ms: a lab with many agents changes many times a second. */
  const APART = 2000;
  /** Ages grow although nothing changes. */
  const AT_LEAST = 30000;
  /** After the stream of events was refused. */
  const AGAIN = 15000;
  let version = document.body.dataset.version;
  let read = Date.now();
  let waiting = 0;
  let reading = false;
  let lost = false;

  const say = (text, bad) => {
    said.textContent = text;
    said.className = bad ? "lost" : "";
  };

  /** Replaces what is live and has changed; keeps what is open, scrolled and focused. */
  const replace = (page) => {
    for (const part of page.querySelectorAll("[data-live]")) {
      const old = document.getElementById(part.id);
      if (!old || old.innerHTML === part.innerHTML) continue;
      const fresh = document.importNode(part, true);
      old.querySelectorAll("details[open]").forEach((details) => {
        const same = fresh.querySelector(`details[id="${CSS.escape(details.id)}"]`);
        if (same) same.open = true;
      });
      const checked = [...old.querySelectorAll("input:checked")].map((input) => input.value);
      for (const input of fresh.querySelectorAll("input")) input.checked = checked.includes(input.value);
      const scrolled = [...old.querySelectorAll(".frame")].map((frame) => frame.scrollLeft);
      const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      old.replaceWith(fresh);
      fresh.querySelectorAll(".frame").forEach((frame, i) => (frame.scrollLeft = scrolled[i] ?? 0));
      if (focused) fresh.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    }
    version = page.body.dataset.version;
  };

  const readAgain = async () => {
    waiting = 0;
    if (document.hidden || reading) return;
    reading = true;
    read = Date.now();
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!answer.ok) throw new Error(page.querySelector("#problem")?.textContent ?? `HTTP ${answer.status}`);
      replace(page);
      lost = false;
      say("live");
    } catch (e) {
      lost = true;
      say(`not current: ${e.message}`, true);
    } finally {
      reading = false;
    }
  };
  const soon = () => {
    if (waiting === 0) waiting = setTimeout(readAgain, Math.max(0, read + APART - Date.now()));
  };

  const listen = () => {
    const events = new EventSource("/events");
    events.addEventListener("version", (e) => {
      if (e.data !== version || lost) soon();
      else say("live");
    });
    events.addEventListener("away", () => {
      lost = true;
      say("not current: the database does not answer", true);
    });
    events.addEventListener("error", () => {
      lost = true;
      say("not current: the connection is lost", true);
      // Otherwise the browser connects again by itself.
      if (events.readyState === EventSource.CLOSED) {
        setTimeout(() => {
          soon();
          listen();
        }, AGAIN);
      }
    });
    addEventListener("pagehide", () => events.close(), { once: true });
    addEventListener("pageshow", (e) => e.persisted && location.reload(), { once: true });
  };
  listen();
  setInterval(() => {
    if (Date.now() - read >= AT_LEAST) soon();
  }, 1000);
  document.addEventListener("visibilitychange", soon);
})();
