import { type KeyboardEvent, type ReactNode, useState } from 'react';
import styles from './chart.module.css';
import { type DrawnChart, formatStep, isNothing, stepLengthMs, sumOf, valueText } from './chart-data.ts';
import { ChartLegend, Swatch } from './chart-legend.tsx';
import { usePlot } from './chart-plot.ts';

/** Position of the cursor when no step is selected. */
const OUTSIDE_PX = -10;

export function ChartCanvas(props: DrawnChart): ReactNode {
  const { label, startsMs, step, heightPx, onSpan } = props;
  const [at, setAt] = useState<number>();
  const stepMs = stepLengthMs(startsMs, step);
  const { box, plot, data } = usePlot(props, stepMs, setAt);

  const look = (index: number | undefined) => {
    setAt(index);
    const seconds = index === undefined ? undefined : data[0][index];
    const left = seconds === undefined ? OUTSIDE_PX : plot.current?.valToPos(seconds, 'x');
    plot.current?.setCursor({ left: left ?? OUTSIDE_PX, top: seconds === undefined ? OUTSIDE_PX : 0 });
  };
  const choose = () => {
    const startMs = at === undefined ? undefined : startsMs[at];
    if (startMs !== undefined) onSpan?.(startMs, startMs + stepMs);
  };
  const move = (event: KeyboardEvent) => {
    const last = startsMs.length - 1;
    const next = { ArrowLeft: (at ?? last + 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last }[event.key];
    if (event.key === 'Enter') return choose();
    if (next === undefined && event.key !== 'Escape') return;
    event.preventDefault();
    const chosen = next === undefined ? undefined : Math.min(last, Math.max(0, next));
    look(chosen);
  };

  return (
    <>
      <div className={styles.place}>
        <div
          ref={box}
          role="application"
          aria-label={`${label}. Arrow keys move over time.${onSpan ? ' Enter opens the requests.' : ''}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: an application is what takes keys
          tabIndex={0}
          className={styles.canvas}
          style={{ height: heightPx, cursor: onSpan && 'pointer' }}
          onKeyDown={move}
          onClick={choose}
          onBlur={() => look(undefined)}
        />
        {at !== undefined && plot.current && <ChartTip {...props} at={at} plot={plot.current} />}
      </div>
      <div className="visually-hidden" role="status">
        {at !== undefined && document.activeElement === box.current && describe(props, at)}
      </div>
      <ChartLegend {...props} />
    </>
  );
}

interface ChartTipProps extends DrawnChart {
  readonly at: number;
  readonly plot: uPlot;
}

/** The values at the pointer, shown on the side with more room. Screen readers get `describe`. */
function ChartTip({ at, plot, kind, series, startsMs, step, format, before, hidden }: ChartTipProps): ReactNode {
  const leftPx = plot.over.offsetLeft + plot.valToPos((startsMs[at] ?? 0) / 1000, 'x');
  const isRight = leftPx > plot.width / 2;
  const shown = series.filter((one) => !hidden?.has(one.id) && !isNothing(one));
  return (
    <div
      className={styles.tip}
      style={isRight ? { right: plot.width - leftPx + 14 } : { left: leftPx + 14 }}
      aria-hidden="true"
    >
      <span className={styles.when}>{formatStep({ startsMs, step }, at)}</span>
      {series.map((one, index) => {
        const value = one.values[at];
        if (!shown.includes(one) || value === 0) return null;
        return (
          <span key={one.id} className={styles.entry}>
            <Swatch of={one} index={index} />
            <span className={styles.name}>{one.label}</span>
            <strong>{valueText(value, format)}</strong>
          </span>
        );
      })}
      {before && (
        <span className={styles.entry}>
          Period before <strong>{valueText(before[at], format)}</strong>
        </span>
      )}
      {kind === 'stacked-bars' && shown.length !== 1 && (
        <span className={styles.entry}>
          Total <strong>{valueText(sumOf(shown.map(({ values }) => values[at])), format)}</strong>
        </span>
      )}
    </div>
  );
}

function describe({ series, startsMs, step, format, hidden }: DrawnChart, at: number): string {
  const when = formatStep({ startsMs, step }, at);
  const shown = series.filter((one) => !hidden?.has(one.id) && !isNothing(one));
  return `${when}: ${shown.map(({ label, values }) => `${label} ${valueText(values[at], format)}`).join(', ')}`;
}
