import type { ReactNode } from 'react';
import type { ChartProps } from './chart-data.ts';
import { formatStep, stepLengthMs } from './chart-data.ts';

/** What the canvas shows, for those who do not see it. */
export function ChartTable({ label, startsMs = [], series, format, step }: ChartProps): ReactNode {
  const stepMs = stepLengthMs(startsMs, step);
  return (
    <div className="visually-hidden">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ id, label: name }) => (
              <th key={id} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {startsMs.map((startMs, index) => (
            <tr key={startMs}>
              <th scope="row">{formatStep(startMs, step, stepMs)}</th>
              {series.map(({ id, values }) => (
                <td key={id}>{format(values[index] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
