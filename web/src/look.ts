// How the points of a cloud look: smaller and paler the more there are, and paler still beside selected ones.

import type { Class } from "./data";
import { type Look, type Stamp, stamp } from "./symbols";
import { classColors, palette } from "./theme";

export class CloudLook {
  readonly #classes: readonly Class[];

  constructor(classes: readonly Class[]) {
    this.#classes = classes;
  }

  /** Pictures of the classes in a cloud of `size` points, of which `selected` are selected. */
  base(size: number, selected: number): (kind: number, density: number) => Stamp {
    const dense = size > 20000 ? 0.75 : size > 3000 ? 0.65 : 0.85;
    return this.#stamps(size, selected > 0 ? dense * 0.4 : dense, null);
  }

  chosen(size: number, selected: number): (kind: number, density: number) => Stamp {
    return this.#stamps(size, 1, selected < 1500 ? palette().ink : null);
  }

  #stamps(size: number, alpha: number, outline: string | null): (kind: number, density: number) => Stamp {
    const colors = classColors(this.#classes);
    const radius = radiusFor(size);
    return (kind, density) => {
      const { symbol: shape, role } = this.#classes[kind] ?? { symbol: "square", role: "other" };
      // The rare ones must be found among the many.
      const own = role === "good" ? radius : Math.max(radius * 1.2, size > 20000 ? 2.2 : 3);
      const look: Look = { shape, color: colors[kind] ?? palette().ink, radius: own, alpha, outline };
      return stamp(role === "good" ? look : { ...look, alpha: Math.min(1, alpha * 1.2) }, density);
    };
  }
}

export function radiusFor(size: number): number {
  if (size <= 300) return 4;
  if (size <= 2000) return 3.4;
  if (size <= 12000) return 2.7;
  return 2;
}
