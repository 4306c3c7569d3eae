"use strict";
const root = document.documentElement;
const theme = document.getElementById("theme");
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
}

function show() {
  theme.setAttribute("aria-pressed", String(isDark()));
}

theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  show();
});
prefersDark.addEventListener("change", show);
show();

// A button plays and pauses videos: the browser's own controls would cover small ones, and are used only without scripts.
function control(button, films, label) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const play = button.getAttribute("aria-pressed") !== "true";
    for (const film of films) {
      if (play) film.play(); else film.pause();
    }
  });
  for (const film of films) {
    for (const event of ["play", "pause"]) {
      film.addEventListener(event, () => {
        const playing = films.every((one) => !one.paused);
        button.setAttribute("aria-pressed", String(playing));
        button.textContent = (playing ? "Pause" : "Play") + label;
      });
    }
  }
}

for (const button of document.querySelectorAll("button.film")) {
  const film = button.parentElement.querySelector("video");
  film.removeAttribute("controls");
  control(button, [film], "");
}
for (const button of document.querySelectorAll("button.films-all")) {
  control(button, [...document.getElementById(button.getAttribute("aria-controls")).querySelectorAll("video")], " all");
}

addEventListener("beforeprint", () => {
  for (const closed of document.querySelectorAll("details")) closed.open = true;
});
