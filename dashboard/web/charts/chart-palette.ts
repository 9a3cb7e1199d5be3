import styles from './chart.module.css';

export interface Palette {
  readonly colour: Record<string, string>;
  readonly grid: string;
  readonly text: string;
  readonly font: string;
}

/** Canvas knows no custom properties: what they come to here and now. */
export function readPalette(place: HTMLElement): Palette {
  const probe = document.createElement('span');
  probe.className = styles.probe ?? '';
  place.append(probe);
  const style = getComputedStyle(probe);
  const colour = (name: string) => {
    probe.style.color = `var(${name})`;
    return style.color;
  };
  const font = style.fontFamily;
  const palette: Palette = { colour: {}, grid: colour('--border'), text: colour('--text-muted'), font: `12px ${font}` };
  for (const name of ['--series-other', ...Array.from({ length: 8 }, (_, index) => `--series-${index + 1}`)]) {
    palette.colour[name] = colour(name);
  }
  probe.remove();
  return palette;
}
