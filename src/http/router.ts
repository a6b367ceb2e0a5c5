import type { Route } from './request.ts';

const MAX_PARAMETER_LENGTH = 200;

type Match = { readonly route: Route; readonly parameters: Readonly<Record<string, string>> };

const NO_PARAMETERS = {};

/** Finds the route of a path: fixed paths by one lookup, patterns segment by segment. */
export class Router {
  readonly #fixed = new Map<string, Route[]>();
  readonly #patterns: { readonly segments: readonly string[]; readonly routes: Route[] }[] = [];

  constructor(routes: readonly Route[]) {
    for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
      if (path.includes('/:')) this.#patterns.push({ segments: path.split('/'), routes: ofPath });
      else this.#fixed.set(path, ofPath);
    }
  }

  /** HEAD is routed like GET (RFC 9110 9.3.2). */
  find(method: string, path: string): Match | undefined {
    const routedMethod = method === 'HEAD' ? 'GET' : method;
    const fixed = this.#fixed.get(path);
    if (fixed) return matchMethod(fixed, routedMethod, NO_PARAMETERS);
    const sent = path.split('/');
    for (const { segments, routes } of this.#patterns) {
      const parameters = matchSegments(segments, sent);
      if (parameters) return matchMethod(routes, routedMethod, parameters);
    }
    return undefined;
  }

  /** The methods that a path allows; none where no route has the path. */
  methods(path: string): string[] {
    const sent = path.split('/');
    const pattern = () => this.#patterns.find(({ segments }) => matchSegments(segments, sent));
    const routes = this.#fixed.get(path) ?? pattern()?.routes ?? [];
    return routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  }
}

function matchMethod(
  routes: readonly Route[],
  method: string,
  parameters: Match['parameters'],
): Match | undefined {
  const route = routes.find((one) => one.method === method);
  return route && { route, parameters };
}

function matchSegments(
  segments: readonly string[],
  sent: readonly string[],
): Record<string, string> | undefined {
  if (sent.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const text = sent[index]!;
    if (!segment.startsWith(':')) {
      if (text !== segment) return undefined;
      continue;
    }
    const value = text.length <= MAX_PARAMETER_LENGTH && decodePath(text);
    if (!value) return undefined;
    parameters[segment.slice(1)] = value;
  }
  return parameters;
}

/** Undefined for invalid percent-encoding. Unlike in a query, a plus stays a plus. */
export function decodePath(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
