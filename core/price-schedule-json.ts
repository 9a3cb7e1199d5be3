import type { PriceSchedule, PriceWindow } from './price-schedule.ts';
import { type TableJson, tableIn, tableText } from './price-table-text.ts';
import type { PriceTable } from './pricing.ts';

/** A price schedule as processes report it. */
export interface ScheduleJson {
  readonly periods: readonly PeriodJson[];
}

interface PeriodJson {
  /** Null: the period begins before every request. */
  readonly fromMs: number | null;
  readonly table: TableJson;
  readonly windows: readonly WindowJson[];
}

interface WindowJson extends Pick<PriceWindow, 'startMinute' | 'endMinute'> {
  readonly weekdays: readonly number[];
  readonly exceptDays: readonly number[];
  readonly table: TableJson;
}

export function scheduleJson({ periods }: PriceSchedule): ScheduleJson {
  return {
    periods: periods.map(({ fromMs, table, windows }) => ({
      fromMs: Number.isFinite(fromMs) ? fromMs : null,
      table: tableJson(table),
      windows: windows.map(({ weekdays, exceptDays, ...window }) => ({
        ...window,
        weekdays: [...weekdays],
        exceptDays: [...exceptDays],
        table: tableJson(window.table),
      })),
    })),
  };
}

export function tableJson(table: PriceTable): TableJson {
  return JSON.parse(tableText(table)) as TableJson;
}

/** `undefined`: there is no period. */
export function scheduleIn({ periods }: ScheduleJson): PriceSchedule | undefined {
  const [first, ...later] = periods.map(({ fromMs, table, windows }) => ({
    fromMs: fromMs ?? Number.NEGATIVE_INFINITY,
    table: tableIn(table),
    windows: windows.map(({ weekdays, exceptDays, ...window }) => ({
      ...window,
      weekdays: new Set(weekdays),
      exceptDays: new Set(exceptDays),
      table: tableIn(window.table),
    })),
  }));
  return first === undefined ? undefined : { periods: [first, ...later] };
}
