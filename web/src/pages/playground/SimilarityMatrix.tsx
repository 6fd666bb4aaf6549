import type { CSSProperties } from 'react'
import { similarity } from './figures'
import classes from './Playground.module.css'

/** Pairwise similarity of texts; a deeper colour means more similar. */
export function SimilarityMatrix({ texts, vectors }: { texts: string[]; vectors: number[][] }) {
  // Rows are keyed by number, since texts may repeat.
  const rows = texts.map((text, index) => ({ text, vector: vectors[index] ?? [], number: index + 1 }))
  return (
    <section className={classes.matrix} tabIndex={0} aria-label="Similarity matrix">
      <table>
        <thead>
          <tr>
            <td aria-hidden style={{ background: 'none' }} />
            {rows.map(({ text, number }) => (
              <th key={number} scope="col" title={text}>
                {number}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ text, vector, number }) => (
            <tr key={number}>
              <th scope="row" title={text}>
                {number}. {text}
              </th>
              {rows.map((other) => (
                <Cell key={other.number} value={similarity(vector, other.vector)} title={`${text} / ${other.text}`} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Cell({ value, title }: { value: number; title: string }) {
  const style = { '--share': Math.max(0, Math.min(1, value)).toFixed(3) } as CSSProperties
  return (
    <td style={style} title={title}>
      {value.toFixed(2)}
    </td>
  )
}
