import uPlot from 'uplot';
import { formatMinute, localDay } from '../format/format.ts';
import styles from './chart.module.css';
import type { DrawnChart } from './chart-data.ts';

interface ChartSetup extends Pick<DrawnChart, 'kind' | 'step' | 'heightPx' | 'format'> {
  readonly stepMs: number;
  readonly widthPx: number;
  /** True if all values are integers, so that the axis has no fractional steps. */
  readonly isWhole: boolean;
  readonly hasBefore: boolean;
  /** Series in drawing order. `colour` is the name of a custom property. */
  readonly series: readonly { readonly id: string; readonly colour: string }[];
  readonly palette: Palette;
  readonly selectable: boolean;
  readonly onSpan: (fromMs: number, toMs: number) => void;
  readonly onAt: (index: number | undefined) => void;
}

const AXIS_WIDTH_PX = 62;
const AXIS_HEIGHT_PX = 30;
/** Gap between a label and the plot. */
const AXIS_GAP_PX = 14;
const DAY_SECONDS = 86_400;
/** 1, 2, 5, 10, … */
const WHOLE_STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

export function chartOptions(setup: ChartSetup): uPlot.Options {
  const { kind, step, palette } = setup;
  const axis = { stroke: palette.text, font: palette.font, ticks: { show: false } };
  const stepSeconds = setup.stepMs / 1000;
  return {
    width: setup.widthPx,
    height: setup.heightPx,
    legend: { show: false },
    // Half a label extends beyond the end of a line or narrow bar.
    padding: [8, kind === 'lines' || step === 'hour' ? 20 : 8, 0, 0],
    // Days are UTC days; hours are in the reader's zone.
    tzDate: (seconds) =>
      step === 'day' ? uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') : new Date(seconds * 1000),
    scales: {
      // Bars are centred on their step, which needs half a step at both ends.
      x: {
        time: true,
        range: (_, min, max) => (kind === 'lines' ? [min, max] : [min - stepSeconds / 2, max + stepSeconds / 2]),
      },
      // Amounts such as a margin may be negative.
      y: { range: (_, min, max) => [Math.min(0, min * 1.05), max > 0 ? max * 1.05 : min < 0 ? 0 : 1] },
    },
    axes: [
      {
        ...axis,
        size: AXIS_HEIGHT_PX,
        grid: { show: false },
        space: 72,
        values: (_, splits) => splits.map((seconds) => tickLabel(seconds, splits, step)),
      },
      {
        ...axis,
        size: (chart, labels) => axisWidthPx(chart.ctx, palette.font, labels),
        ...(setup.isWhole && { incrs: WHOLE_STEPS }),
        grid: { stroke: palette.grid, width: 1 },
        values: (chart, splits, _axis, _space, axisStep) => valueLabels(chart, splits, axisStep, setup.format),
      },
    ],
    cursor: {
      y: false,
      drag: { x: setup.selectable, y: false, setScale: false, dist: 4 },
      points: { show: kind === 'lines' },
    },
    series: [
      {},
      ...setup.series.map(({ id, colour }) => seriesOptions(id, palette.colour[colour] ?? palette.text, kind)),
      ...(setup.hasBefore ? [{ stroke: palette.text, width: 1.5, dash: [4, 4], points: { show: false } }] : []),
    ],
    hooks: {
      setCursor: [(chart) => setup.onAt(chart.cursor.idx ?? undefined)],
      setSelect: [
        (chart) => {
          const { left, width } = chart.select;
          if (width === 0) return;
          const [first = 0, last = first] = [left, left + width].map((px) => chart.data[0][chart.posToIdx(px)]);
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          setup.onSpan(first * 1000, last * 1000 + setup.stepMs);
        },
      ],
    },
  };
}

/** Without values the axis has no scale, so only its zero is labelled. */
function valueLabels(
  chart: uPlot,
  splits: readonly number[],
  axisStep: number,
  format: ChartSetup['format'],
): string[] {
  const isEmpty = chart.data.slice(1).every((values) => [...values].every((value) => (value ?? 0) === 0));
  return splits.map((value) => (isEmpty && value !== 0 ? '' : format(value, axisStep)));
}

/** Width in CSS pixels (uPlot draws in device pixels): fractions of a cent have long labels. */
function axisWidthPx(context: CanvasRenderingContext2D, font: string, labels: readonly string[] | null): number {
  context.save();
  context.font = font;
  const widest = Math.max(0, ...(labels ?? []).map((label) => context.measureText(label).width));
  context.restore();
  return Math.max(AXIS_WIDTH_PX, Math.ceil(widest) + AXIS_GAP_PX);
}

function seriesOptions(label: string, colour: string, kind: ChartSetup['kind']): uPlot.Series {
  if (kind === 'lines') return { label, stroke: colour, width: 1.75, points: { show: false, filter: lonePoints } };
  const paths = uPlot.paths.bars?.({ size: [0.72, 48, 2] });
  return { label, fill: colour, width: 0, points: { show: false }, ...(paths && { paths }) };
}

/** Indices of values between two gaps, which no line connects. */
const lonePoints: uPlot.Series.Points.Filter = (chart, seriesIndex) => {
  const values = chart.data[seriesIndex] ?? [];
  const isGap = (index: number) => (values[index] ?? null) === null;
  return [...values.keys()].filter((index) => !isGap(index) && isGap(index - 1) && isGap(index + 1));
};

const utcDayText = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** The day if ticks are days apart or a day begins. Otherwise the time. */
function tickLabel(seconds: number, splits: readonly number[], step: 'hour' | 'day'): string {
  if (step === 'day') return utcDayText.format(seconds * 1000);
  const apart = (splits[1] ?? 0) - (splits[0] ?? 0);
  const text = formatMinute(seconds * 1000);
  return apart >= DAY_SECONDS || text === '00:00' ? localDay.format(seconds * 1000) : text;
}

interface Palette {
  readonly colour: Record<string, string>;
  readonly grid: string;
  readonly text: string;
  readonly font: string;
}

/** Resolves custom properties to colours, because a canvas cannot use them. */
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
