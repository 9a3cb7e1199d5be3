import { type ReactNode, useCallback } from 'react';
import { formatUsd, parseUsd } from '../../../core/money.ts';
import { formatMoneyExactly } from '../format/format-money.ts';
import { withoutGrouping } from './parse-grouped.ts';
import { ParsedInput } from './parsed-input.tsx';

export interface MoneyInputProps {
  /** Nano-dollars. */
  readonly value: string | undefined;
  readonly onChange: (nanoUsd: string | undefined) => void;
  readonly allowNegative?: boolean;
  readonly allowZero?: boolean;
  /** Nano-dollars. */
  readonly max?: string | undefined;
  readonly placeholder?: string;
}

const format = (nanoUsd: string) => formatUsd(BigInt(nanoUsd));

/** An amount in dollars, exact to the nano-dollar. */
export function MoneyInput(props: MoneyInputProps): ReactNode {
  const { allowNegative = false, allowZero = false, max } = props;
  const parse = useCallback(
    (text: string) => {
      const nano = parseUsd(withoutGrouping(text));
      if (nano === undefined) return { problem: 'Enter an amount in dollars, with a point for cents, such as 12.50.' };
      if (nano < 0n && !allowNegative) return { problem: 'The amount cannot be negative.' };
      if (nano === 0n && !allowZero) return { problem: 'The amount cannot be zero.' };
      if (max !== undefined && nano > BigInt(max)) return { problem: `At most ${formatMoneyExactly(max)}.` };
      return { value: nano.toString() };
    },
    [allowNegative, allowZero, max],
  );
  return (
    <ParsedInput
      value={props.value}
      onChange={props.onChange}
      parse={parse}
      format={format}
      inputMode="decimal"
      prefix="$"
      placeholder={props.placeholder}
    />
  );
}
