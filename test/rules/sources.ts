import { dirname, join, relative } from 'node:path';
import {
  isCallExpression,
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isNamedExports,
  isNamedImports,
  isObjectBindingPattern,
  isParenthesizedExpression,
  isPrivateIdentifier,
  isPropertyAccessExpression,
  isStringLiteral,
  isVariableDeclaration,
  isVariableStatement,
  type Node,
  type SourceFile as ParsedFile,
  type Statement,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

/** All names of a module: `import * as`, `export * from`, and an `import()` that is not destructured. */
export const EVERYTHING = '*';

type Located = { readonly text: string; readonly line: number };
type Import = {
  /** From the root of the project, as `src/app.ts`. Packages are left out. */
  readonly path: string;
  readonly names: readonly string[];
  readonly line: number;
};
type FunctionSize = { readonly name: string; readonly line: number; readonly lines: number };

/** A TypeScript file of the project, reduced to what the rules need. */
export type Source = {
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly exports: readonly Located[];
  readonly functions: readonly FunctionSize[];
  readonly comments: readonly Located[];
  readonly identifiers: readonly Located[];
  /** Every node of the syntax tree, each before its children. */
  readonly nodes: readonly Node[];
  readonly lineOf: (node: Node) => number;
};

/** Parses all files of the TypeScript project in `folder`, with the compiler's own parser. */
export function readSources(folder: string): Source[] {
  const api = new API({ cwd: folder });
  try {
    const { rootFiles, program } = api
      .updateSnapshot({ openProject: join(folder, 'tsconfig.json') })
      .getProjects()[0]!;
    return rootFiles.map((file) =>
      new FileReader(relative(folder, file), program.getSourceFile(file)!).read(),
    );
  } finally {
    api.close();
  }
}

class FileReader {
  readonly #path: string;
  readonly #file: ParsedFile;
  readonly #nodes: Node[] = [];

  constructor(path: string, file: ParsedFile) {
    this.#path = path;
    this.#file = file;
    const collect = (node: Node): void => {
      this.#nodes.push(node);
      node.forEachChild(collect);
    };
    collect(file);
  }

  read(): Source {
    const nodes = this.#nodes;
    return {
      path: this.#path,
      lines: this.#file.text.trimEnd().split('\n').length,
      imports: nodes.flatMap((node) => this.#importOf(node)),
      exports: this.#file.statements.flatMap((statement) => this.#exportsOf(statement)),
      functions: nodes.filter(isFunctionWithBody).map((node) => this.#sizeOf(node)),
      comments: this.#comments(),
      identifiers: nodes.filter((node) => isIdentifier(node) || isPrivateIdentifier(node)).map(this.#located),
      nodes,
      lineOf: this.#lineOf,
    };
  }

  readonly #lineOf = (node: Node): number => this.#lineAt(node.getStart(this.#file));
  readonly #lineAt = (position: number): number =>
    this.#file.getLineAndCharacterOfPosition(position).line + 1;
  readonly #located = (node: Node): Located => ({
    text: node.getText(this.#file),
    line: this.#lineOf(node),
  });

  #importOf(node: Node): Import[] {
    const found = importedNames(node, (part) => part.getText(this.#file));
    if (!found?.specifier.startsWith('.')) return [];
    const path = join(dirname(this.#path), found.specifier);
    return [{ path, names: found.names, line: this.#lineOf(node) }];
  }

  #exportsOf(statement: Statement): Located[] {
    if (isExportDeclaration(statement)) {
      const { exportClause } = statement;
      return exportClause && isNamedExports(exportClause)
        ? exportClause.elements.map(({ name }) => this.#located(name))
        : [];
    }
    const { modifiers, name } = statement as { modifiers?: readonly Node[]; name?: Node };
    if (!modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword)) return [];
    if (isVariableStatement(statement))
      return statement.declarationList.declarations.map((declaration) => this.#located(declaration.name));
    return name ? [this.#located(name)] : [{ text: 'default', line: this.#lineOf(statement) }];
  }

  #sizeOf(node: Node): FunctionSize {
    const { name } = node as { name?: Node };
    const holder = node.parent as { name?: Node };
    const label = (name ?? holder.name)?.getText(this.#file) ?? 'anonymous function';
    const line = this.#lineOf(node);
    return { name: label, line, lines: this.#lineAt(node.end) - line + 1 };
  }

  /** Comments are no nodes: they are what looks like one outside strings, templates and regular expressions. */
  #comments(): Located[] {
    let code = this.#file.text;
    for (const node of this.#nodes.filter(({ kind }) => LITERALS.has(kind))) {
      const start = node.getStart(this.#file);
      code = code.slice(0, start) + ' '.repeat(node.end - start) + code.slice(node.end);
    }
    return [...code.matchAll(/\/\/.*|\/\*[\s\S]*?\*\//g)].map(({ 0: text, index }) => ({
      text: text.replaceAll(/^\s*(\/\/|\/?\*+\/?) ?|\s*\*\/$/gm, '').trim(),
      line: this.#lineAt(index),
    }));
  }
}

const LITERALS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
]);

const FUNCTIONS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
]);

const isFunctionWithBody = (node: Node): boolean => FUNCTIONS.has(node.kind) && 'body' in node && !!node.body;

type Imported = { readonly specifier: string; readonly names: readonly string[] };

/** Every way to name another module: import, export from, import(), and a type import('…'). */
function importedNames(node: Node, text: (node: Node) => string): Imported | undefined {
  if (isImportDeclaration(node) && isStringLiteral(node.moduleSpecifier)) {
    const specifier = node.moduleSpecifier.text;
    const { importClause } = node;
    const bindings = importClause?.namedBindings;
    const named = bindings && isNamedImports(bindings) ? bindings.elements : [];
    const names = named.map(({ propertyName, name }) => text(propertyName ?? name));
    if (bindings && !isNamedImports(bindings)) names.push(EVERYTHING);
    if (importClause?.name) names.push('default');
    return { specifier, names };
  }
  if (isExportDeclaration(node) && node.moduleSpecifier && isStringLiteral(node.moduleSpecifier)) {
    const { exportClause } = node;
    const named = exportClause && isNamedExports(exportClause) ? exportClause.elements : undefined;
    const names = named?.map(({ propertyName, name }) => text(propertyName ?? name)) ?? [EVERYTHING];
    return { specifier: node.moduleSpecifier.text, names };
  }
  if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
    const [argument] = node.arguments;
    if (!argument || !isStringLiteral(argument)) return undefined;
    return { specifier: argument.text, names: namesTakenFrom(node, text) };
  }
  if (isImportTypeNode(node) && isLiteralTypeNode(node.argument) && isStringLiteral(node.argument.literal))
    return {
      specifier: node.argument.literal.text,
      names: node.qualifier ? [text(node.qualifier)] : [EVERYTHING],
    };
  return undefined;
}

/** `const { a } = await import('…')` or `(await import('…')).a`. */
function namesTakenFrom(call: Node, text: (node: Node) => string): string[] {
  const outer = call.parent.parent;
  if (isVariableDeclaration(outer) && isObjectBindingPattern(outer.name))
    return outer.name.elements.map(({ propertyName, name }) => text(propertyName ?? name!));
  if (isParenthesizedExpression(outer) && isPropertyAccessExpression(outer.parent))
    return [text(outer.parent.name)];
  return [EVERYTHING];
}
