import { type KeyboardEvent, type ReactNode, useState } from 'react';
import uPlot from 'uplot';
import styles from './chart.module.css';
import { formatStep, stepLengthMs, valueText } from './chart-data.ts';
import { ChartLegend } from './chart-legend.tsx';
import { type DrawnChart, usePlot } from './chart-plot.ts';

/** Position of the cursor when no step is selected. */
const OUTSIDE_PX = -10;

export function ChartCanvas(props: DrawnChart): ReactNode {
  const { label, startsMs, step, heightPx, syncKey } = props;
  const [at, setAt] = useState<number>();
  const { box, plot, data } = usePlot(props, stepLengthMs(startsMs, step), setAt);

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

function describe({ series, startsMs, step, format, hidden }: DrawnChart, at: number): string {
  const when = formatStep(startsMs[at] ?? 0, step, stepLengthMs(startsMs, step));
  const shown = series.filter(({ id }) => !hidden?.has(id));
  return `${when}: ${shown.map(({ label, values }) => `${label} ${valueText(values[at], format)}`).join(', ')}`;
}
