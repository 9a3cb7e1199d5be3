import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useAsk } from '../api/use-ask.ts';
import { Button } from '../components/button.tsx';
import { useFieldControl } from '../forms/field.tsx';
import type { OrganizationFinderProps } from './organization-finder.tsx';

export interface OrganizationPickerProps {
  readonly value: string | undefined;
  readonly onChange: (id: string) => void;
  /** Shown while none is chosen. */
  readonly placeholder: string;
}

/** Chooses one of all organizations, for operators. In a Field or alone. */
export function OrganizationPicker({ value, onChange, placeholder }: OrganizationPickerProps): ReactNode {
  const { attributes } = useFieldControl();
  const [finding, setFinding] = useState(false);
  const chosen = useAsk(
    'GET /api/organizations/:organization',
    { params: { organization: value ?? '' } },
    { enabled: value !== undefined },
  );
  const name = value === undefined ? placeholder : (chosen.data?.name ?? value);
  return (
    <>
      <Button
        {...(attributes.id !== undefined && { id: attributes.id })}
        aria-label={`Organization: ${name}`}
        aria-describedby={attributes['aria-describedby']}
        aria-haspopup="dialog"
        icon="organizations"
        onClick={() => setFinding(true)}
      >
        {name}
      </Button>
      {finding && (
        <FindOrganization
          onClose={() => setFinding(false)}
          onFound={(id) => {
            setFinding(false);
            onChange(id);
          }}
        />
      )}
    </>
  );
}

// Loaded when an operator opens it.
const OrganizationFinder = lazy(() =>
  import('./organization-finder.tsx').then((module) => ({ default: module.OrganizationFinder })),
);

/** A dialog in which operators find any organization. */
export function FindOrganization(props: OrganizationFinderProps): ReactNode {
  return (
    <Suspense>
      <OrganizationFinder {...props} />
    </Suspense>
  );
}
