/**
 * Colours of a map. From dark blue over grey-green to light yellow: lightness grows all the way, so that the scale can be read without
 * telling colours apart and in grey, and blue and yellow are what most colour-blind people tell apart.
 */

type Rgb = readonly [number, number, number];

const STOPS: readonly Rgb[] = [
  [16, 32, 84],
  [38, 72, 122],
  [72, 108, 134],
  [112, 142, 132],
  [160, 176, 116],
  [210, 206, 98],
  [253, 234, 110],
];

/** The colour of a part of one. */
export function colourAt(part: number): Rgb {
  const place = Math.min(1, Math.max(0, part)) * (STOPS.length - 1);
  const index = Math.min(STOPS.length - 2, Math.floor(place));
  const [low, high] = [STOPS[index] as Rgb, STOPS[index + 1] as Rgb];
  const mixed = low.map((value, channel) => Math.round(value + (place - index) * ((high[channel] as number) - value)));
  return mixed as unknown as Rgb;
}

export function css([red, green, blue]: Rgb): string {
  return `rgb(${red} ${green} ${blue})`;
}

/** Black or white: what can be read on a colour. */
export function inkOn(colour: Rgb): string {
  return contrast(luminance(colour), 0) >= contrast(luminance(colour), 1) ? "#000" : "#fff";
}

/** Relative luminance (WCAG 2.2, section "relative luminance"). */
export function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast ratio of two luminances (the same document). */
export function contrast(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

/** Where values lie between the least and the most of them; all in the middle where they are one. */
export function scaleOf(values: readonly number[]): { least: number; most: number; part(value: number): number } | null {
  if (values.length === 0) return null;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return { least, most, part: (value) => (most === least ? 0.5 : (value - least) / (most - least)) };
}
