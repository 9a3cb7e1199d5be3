import './styles/tokens.css';
import './styles/elements.css';
import './styles/classes.css';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRouter, RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryText, readQuery } from '#contract/define-search.ts';
import { createQueryClient, onReturn } from './api/connection.ts';
import { askInForm } from './api/form-prompts.ts';
import { followOtherTabs } from './api/session.ts';
import { ToastProvider } from './components/toast.tsx';
import { endureTranslators } from './components/translated-texts.ts';
import { HintLayer } from './overlays/hint-layer.tsx';
import { routeTree } from './routes.tsx';
import { PageFailed, PageNotFound } from './shell/fallback-pages.tsx';

const queryClient = createQueryClient(() => {
  const { pathname, href } = router.state.location;
  if (pathname === '/sign-in' || pathname === '/link') return;
  if (askInForm()) return;
  // Navigates first, because the current page still uses the cache.
  void router.navigate({ to: '/sign-in', search: { back: href } }).then(() => queryClient.clear());
});
followOtherTabs(queryClient);
const router = createPageRouter(queryClient);
onReturn(() => {
  void queryClient.invalidateQueries();
  void router.invalidate();
});

const place = document.getElementById('page');
if (!place) throw new Error('index.html has no place for the page');
endureTranslators(document.body);

createRoot(place).render(
  <StrictMode>
    {/* The security policy allows no style elements, and none is needed. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <ToastProvider>
          <RouterProvider router={router} />
          <HintLayer />
        </ToastProvider>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPageRouter>;
  }
}

function createPageRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    // Parses all values as text, and lists as repeated parameters, as people would write them.
    parseSearch: readQuery,
    stringifySearch: queryText,
    defaultPreload: 'intent',
    // Data is cached by TanStack Query instead of the router.
    defaultPreloadStaleTime: 0,
    defaultErrorComponent: PageFailed,
    defaultNotFoundComponent: PageNotFound,
    scrollRestoration: true,
  });
}
