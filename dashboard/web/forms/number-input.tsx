import { type ReactNode, useCallback } from 'react';
import { formatCount } from '../format/format-number.ts';
import { withoutGrouping } from './parse-grouped.ts';
import { ParsedInput } from './parsed-input.tsx';

export interface NumberInputProps {
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
  readonly min?: number;
  readonly max?: number;
  readonly suffix?: string;
  readonly placeholder?: string;
}

/** A whole number. */
export function NumberInput({ min = 0, max = 1_000_000_000, suffix, ...rest }: NumberInputProps): ReactNode {
  const parse = useCallback(
    (text: string) => {
      const digits = withoutGrouping(text);
      const value = /^\d{1,15}$/.test(digits) ? Number(digits) : Number.NaN;
      return value >= min && value <= max
        ? { value }
        : { problem: `Enter a whole number from ${formatCount(min)} to ${formatCount(max)}.` };
    },
    [min, max],
  );
  return <ParsedInput {...rest} parse={parse} format={String} inputMode="numeric" {...(suffix && { suffix })} />;
}
