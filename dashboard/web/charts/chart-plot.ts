import 'uplot/dist/uPlot.min.css';
import { useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import { useIsDark } from '../components/theme.ts';
import { type DrawnChart, stack } from './chart-data.ts';
import { seriesColour } from './chart-legend.tsx';
import { chartOptions, readPalette } from './chart-options.ts';

const NONE: ReadonlySet<string> = new Set();

/** Draws into the box. A new shape or theme creates a new plot. New values only update it. */
export function usePlot(props: DrawnChart, stepMs: number, onAt: (index: number | undefined) => void) {
  const { kind, series, format, step, heightPx, before, onSpan } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const dark = useIsDark();
  const data = useData(props);
  const isWhole = useMemo(
    () => series.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0))),
    [series],
  );
  const shape = JSON.stringify([
    kind,
    step,
    stepMs,
    heightPx,
    before !== undefined,
    isWhole,
    series.map(({ id, isOther }) => [id, isOther]),
  ]);
  const latest = useRef({ data, format, onSpan });
  latest.current = { data, format, onSpan };

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` says when series and the rest differ, `dark` when colours do
  useEffect(() => {
    const place = box.current;
    if (!place) return;
    const order = series.map((one, index) => ({ id: one.id, colour: seriesColour(one, index) }));
    const chart = new uPlot(
      chartOptions({
        kind,
        step,
        stepMs,
        hasBefore: before !== undefined,
        widthPx: place.clientWidth,
        heightPx,
        isWhole,
        series: kind === 'stacked-bars' ? order.reverse() : order,
        palette: readPalette(place),
        format: (value, axisStep) => latest.current.format(value, axisStep),
        selectable: onSpan !== undefined,
        onSpan: (fromMs, toMs) => latest.current.onSpan?.(fromMs, toMs),
        onAt,
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
  return { box, plot, data };
}

function useData({ kind, startsMs, series, before, hidden = NONE }: DrawnChart): uPlot.AlignedData {
  return useMemo(() => {
    const seconds = startsMs.map((startMs) => startMs / 1000);
    // A hidden series keeps its position and colour, so that the plot stays the same.
    const values = series.map((one) => (hidden.has(one.id) ? one.values.map(() => undefined) : one.values));
    // The highest stack is drawn first, so that lower ones cover it.
    const lines = before === undefined ? [] : [before];
    // uPlot connects the neighbours of an undefined value, but leaves a gap for null.
    const withGaps = (all: typeof values) => all.map((one) => one.map((value) => value ?? null));
    if (kind === 'stacked-bars') return [seconds, ...stack(values).reverse(), ...withGaps(lines)];
    return [seconds, ...withGaps([...values, ...lines])];
  }, [startsMs, series, before, kind, hidden]);
}
