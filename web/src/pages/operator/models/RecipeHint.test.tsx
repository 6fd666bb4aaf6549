// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { renderInConsole } from '../../../testing'
import { RecipeHint } from './RecipeHint'
import { optionsOf, RECIPES } from './recipes'

it.each([
  ['Qwen3', 'calls with tools fail or thoughts are part of the text: --enable-auto-tool-choice'],
  ['Llama 3', 'calls with tools fail: --enable-auto-tool-choice'],
])('says what is lost without the options that %s needs', (family, consequence) => {
  for (const recipe of RECIPES.filter((recipe) => recipe.family === family))
    renderInConsole(<RecipeHint recipe={recipe} options={optionsOf(recipe, 'vllm')} changes={[]} onApply={() => {}} />)
  expect(screen.getByRole('note').textContent).toContain(`of the server, ${consequence}`)
})
