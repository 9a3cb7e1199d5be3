import type { ReactNode } from 'react';
import type { ChargeView } from '#contract/request-log.ts';
import { formatCount, formatMoneyExactly, formatPricePerMillion } from '../../format/format.ts';
import { priceEntryLabel } from '../../models/model-labels.ts';
import styles from './charge-details.module.css';
import { chargeLines, chargeSum } from './charge-lines.ts';

export function ChargeDetails({ charge }: { readonly charge: ChargeView }): ReactNode {
  const { usage, costNanoUsd, pricedTier, pricedAboveTokens } = charge;
  const sum = chargeSum(charge);
  return (
    <section className={styles.charge} aria-labelledby="charge-heading">
      <h3 id="charge-heading">Cost breakdown</h3>
      <p className="muted">
        Price entry: {priceEntryLabel(pricedTier, pricedAboveTokens)}
        {charge.serviceTier !== undefined && `. The provider named the service tier ${charge.serviceTier}`}.
        {charge.usageCounted && ' The provider reported no tokens: the gateway counted them.'}
      </p>
      <table className={styles.lines}>
        <caption className="visually-hidden">Tokens, prices and amounts by kind</caption>
        <thead>
          <tr>
            <th scope="col">Tokens of</th>
            <th scope="col">Number</th>
            <th scope="col">Per million</th>
            <th scope="col">Amount</th>
          </tr>
        </thead>
        <tbody>
          {chargeLines(charge).map(({ kind, tokens, picoUsd, usd }) => (
            <tr key={kind}>
              <th scope="row">{kind}</th>
              <td>{formatCount(tokens)}</td>
              <td>{formatPricePerMillion(picoUsd)}</td>
              <td>${usd}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <Total label="Sum" usd={`$${sum.usd}`} />
          {sum.isRounded && <Total label="Rounded up to a nano-dollar" usd={formatMoneyExactly(sum.roundedNanoUsd)} />}
          {sum.cutTo !== undefined && (
            <Total
              label={sum.cutTo === 'hold' ? 'Limited to the hold' : 'Limited to the balance'}
              usd={formatMoneyExactly(costNanoUsd)}
            />
          )}
        </tfoot>
      </table>
      {usage.reasoningTokens > 0 && (
        <p className="muted">Output includes {formatCount(usage.reasoningTokens)} reasoning tokens.</p>
      )}
      {sum.cutTo !== undefined && <p className="muted">{CUTS[sum.cutTo]}</p>}
    </section>
  );
}

const CUTS = {
  hold: 'A request never costs more than was held for it.',
  balance: 'The balance did not cover more, so the rest was not charged.',
} as const;

function Total({ label, usd }: { readonly label: string; readonly usd: string }): ReactNode {
  return (
    <tr>
      <th scope="row" colSpan={3}>
        {label}
      </th>
      <td>{usd}</td>
    </tr>
  );
}
