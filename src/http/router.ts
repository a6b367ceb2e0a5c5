import type { Route } from './request.ts';

const MAX_PARAMETER_LENGTH = 200;

type Found = { readonly route: Route; readonly parameters: Readonly<Record<string, string>> };

const NONE = {};

/** Finds the route of a path. Most paths are fixed, and one lookup; the others are compared segment by segment. */
export class Router {
  readonly #fixed = new Map<string, Route[]>();
  readonly #patterns: { readonly segments: readonly string[]; readonly routes: Route[] }[] = [];

  constructor(routes: readonly Route[]) {
    for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
      if (path.includes('/:')) this.#patterns.push({ segments: path.split('/'), routes: ofPath });
      else this.#fixed.set(path, ofPath);
    }
  }

  /** HEAD asks for what GET would answer. */
  find(method: string, path: string): Found | undefined {
    const asked = method === 'HEAD' ? 'GET' : method;
    const fixed = this.#fixed.get(path);
    if (fixed) return found(fixed, asked, NONE);
    const given = path.split('/');
    for (const { segments, routes } of this.#patterns) {
      const parameters = match(segments, given);
      if (parameters) return found(routes, asked, parameters);
    }
    return undefined;
  }

  /** The methods that a path takes; none where nothing is. */
  methods(path: string): string[] {
    const given = path.split('/');
    const pattern = () => this.#patterns.find(({ segments }) => match(segments, given));
    const routes = this.#fixed.get(path) ?? pattern()?.routes ?? [];
    return routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  }
}

function found(routes: readonly Route[], method: string, parameters: Found['parameters']): Found | undefined {
  const route = routes.find((one) => one.method === method);
  return route && { route, parameters };
}

function match(segments: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (given.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const text = given[index]!;
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

/** Undefined when it is not valid percent-encoding. In a path a plus is a plus. */
export function decodePath(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
