import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Settings } from '#contract/setting.ts';
import { mayAskBeforeLeaving } from '../api/session.ts';
import { changeOf, draftAfterSave, draftOf } from './draft.ts';
import { ConfirmDialog } from './form-dialog.tsx';

/**
 * The draft of a form on a page, for settings that others may change too. It follows `initial`, the
 * settings as fetched last, except for what its user changed.
 */
export function usePageForm<Values extends object>(settings: Settings<Values>, initial: Values) {
  const [before, setBefore] = useState(initial);
  const [draft, setDraft] = useState(() => draftOf(settings, initial));
  const [followed, setFollowed] = useState(initial);
  if (followed !== initial) {
    setFollowed(initial);
    setBefore(initial);
    setDraft(draftAfterSave(settings, initial, draftOf(settings, before), draft));
  }
  const sent = useRef(draft);
  const change = changeOf(settings, before, draft);
  const beginSave = () => {
    sent.current = draft;
    return change;
  };
  const onSaved = (saved: Values) => {
    setBefore(saved);
    setDraft((now) => draftAfterSave(settings, saved, sent.current, now));
  };
  return { before, draft, setDraft, isChanged: Object.keys(change).length > 0, beginSave, onSaved };
}

/** Keeps the user on the page, until the blocker proceeds or is reset. */
export function useLeaveBlocker(isBlocking: boolean) {
  return useBlocker({
    shouldBlockFn: ({ current, next }) => isBlocking && current.pathname !== next.pathname,
    enableBeforeUnload: () => isBlocking && mayAskBeforeLeaving(),
    withResolver: true,
  });
}

/** Asks before the page is left with changes that are not saved. */
export function UnsavedChanges({ isChanged }: { readonly isChanged: boolean }): ReactNode {
  const blocker = useLeaveBlocker(isChanged);
  // Saved meanwhile. The page stays, because it may show a secret now.
  useEffect(() => {
    if (!isChanged) blocker.reset?.();
  });
  return (
    <ConfirmDialog
      open={blocker.status === 'blocked'}
      onClose={() => blocker.reset?.()}
      title="Leave without saving?"
      submit="Discard changes"
      onSubmit={() => blocker.proceed?.()}
    >
      What you changed on this page is not saved.
    </ConfirmDialog>
  );
}
