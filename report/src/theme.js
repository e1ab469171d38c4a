// Light or dark: as the system says, until the button says otherwise.

export class Theme {
  constructor(toggle) {
    this.toggle = toggle;
    this.listeners = [];
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", () => this.set(system.matches));
    toggle.addEventListener("click", () => this.set(!this.dark));
    this.set(system.matches);
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  set(dark) {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.toggle.textContent = dark ? "Light" : "Dark";
    this.toggle.setAttribute("aria-label", dark ? "Switch to light colours" : "Switch to dark colours");
    for (const listener of this.listeners) listener();
  }
}
