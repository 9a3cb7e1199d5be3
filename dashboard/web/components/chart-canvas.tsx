import 'uplot/dist/uPlot.min.css';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import styles from './chart.module.css';
import type { ChartProps } from './chart.tsx';
import { ChartLegend, seriesColour } from './chart-legend.tsx';
import { chartOptions, type Palette } from './chart-options.ts';
import { stack } from './chart-stack.ts';
import { formatStep, stepLengthMs } from './chart-step.ts';
import { useIsDark } from './theme.ts';

const NONE: ReadonlySet<string> = new Set();
/** Where no step is looked at. */
const OUTSIDE_PX = -10;

export interface ChartCanvasProps extends ChartProps {
  readonly startsMs: readonly number[];
  readonly heightPx: number;
}

export function ChartCanvas(props: ChartCanvasProps): ReactNode {
  const { label, kind, startsMs, series, format, formatAxis = format, step, heightPx, syncKey, hidden = NONE } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [at, setAt] = useState<number>();
  const dark = useIsDark();
  const stepMs = stepLengthMs(startsMs, step);
  const isWhole = useMemo(() => series.every(({ values }) => values.every(Number.isInteger)), [series]);
  const shape = JSON.stringify([
    kind,
    step,
    stepMs,
    heightPx,
    syncKey,
    isWhole,
    series.map(({ id, isOther }) => [id, isOther]),
  ]);
  const data = useMemo((): uPlot.AlignedData => {
    const seconds = startsMs.map((startMs) => startMs / 1000);
    // A series that is left out keeps its place and colour: the chart stays the one that it is.
    const values = series.map((one) => (hidden.has(one.id) ? one.values.map(() => 0) : one.values));
    // What is stacked highest is drawn first, so that the lower ones lie over it.
    return [seconds, ...(kind === 'stacked-bars' ? stack(values).reverse() : values.map((one) => [...one]))];
  }, [startsMs, series, kind, hidden]);
  const latest = useRef({ data, formatAxis });
  latest.current = { data, formatAxis };

  // A new chart for another shape or theme; new values alone are handed to the one that is there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` says when series and the rest differ, `dark` when colours do
  useEffect(() => {
    const place = box.current;
    if (!place) return;
    const order = series.map(({ id, isOther }, index) => ({ id, colour: seriesColour(index, isOther) }));
    const chart = new uPlot(
      chartOptions({
        kind,
        step,
        stepMs,
        syncKey,
        widthPx: place.clientWidth,
        heightPx,
        isWhole,
        series: kind === 'stacked-bars' ? order.reverse() : order,
        palette: readPalette(place),
        format: (value) => latest.current.formatAxis(value),
        onAt: setAt,
      }),
      latest.current.data,
      place,
    );
    plot.current = chart;
    const watcher = new ResizeObserver(() => {
      if (place.clientWidth > 0 && place.clientWidth !== chart.width)
        chart.setSize({ width: place.clientWidth, height: heightPx });
    });
    watcher.observe(place);
    return () => {
      watcher.disconnect();
      chart.destroy();
      plot.current = undefined;
    };
  }, [shape, dark]);

  useEffect(() => plot.current?.setData(data), [data]);

  const look = (index: number | undefined) => {
    setAt(index);
    const seconds = index === undefined ? undefined : data[0][index];
    const own = plot.current ? [plot.current] : [];
    for (const chart of syncKey === undefined ? own : uPlot.sync(syncKey).plots) {
      const left = seconds === undefined ? OUTSIDE_PX : chart.valToPos(seconds, 'x');
      chart.setCursor({ left, top: seconds === undefined ? OUTSIDE_PX : 0 });
    }
  };
  const move = (event: KeyboardEvent) => {
    const last = startsMs.length - 1;
    const next = { ArrowLeft: (at ?? last + 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last }[event.key];
    if (next === undefined && event.key !== 'Escape') return;
    event.preventDefault();
    const chosen = next === undefined ? undefined : Math.min(last, Math.max(0, next));
    look(chosen);
  };

  return (
    <>
      <div
        ref={box}
        role="application"
        aria-label={`${label}. Arrow keys move over time.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: an application is what takes keys
        tabIndex={0}
        className={styles.canvas}
        style={{ height: heightPx }}
        onKeyDown={move}
        onBlur={() => look(undefined)}
      />
      <div className="visually-hidden" role="status">
        {at !== undefined && document.activeElement === box.current && describe(props, at)}
      </div>
      <ChartLegend {...props} at={at} />
    </>
  );
}

function describe({ series, startsMs, step, format, hidden }: ChartCanvasProps, at: number): string {
  const when = formatStep(startsMs[at] ?? 0, step, stepLengthMs(startsMs, step));
  const shown = series.filter(({ id }) => !hidden?.has(id));
  return `${when}: ${shown.map(({ label, values }) => `${label} ${format(values[at] ?? 0)}`).join(', ')}`;
}

/** Canvas knows no custom properties: what they come to here and now. */
function readPalette(place: HTMLElement): Palette {
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
