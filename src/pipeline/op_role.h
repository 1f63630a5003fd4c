#pragma once

#include <cstdint>

namespace forebay {

/// The effect of an operator on a plan, for composers that need not know which operator it is.
enum class OpEffect : uint8_t {
  kContent,    ///< changes fields of samples; all other effects are the loader's own work
  kTaking,     ///< selects samples by their places, for which none is read
  kSelection,  ///< selects samples by their values, in a pass over all of them
  kOrder,      ///< puts the samples in another order
  kPacking,    ///< makes samples of one length of rows that differ. Only an order and a batch may follow
  kReplay,     ///< adds samples of earlier steps to each batch
  kBatching,   ///< puts samples together: nothing may follow
  kCaching,    ///< stores the results of the steps before it
  kBuffering,  ///< bounds the records that a source without an end gives too fast
};

/// Whether samples or their order depend on such a step. If not, a run may go on with another one.
constexpr bool changes_samples(OpEffect effect) {
  return effect != OpEffect::kBatching && effect != OpEffect::kCaching && effect != OpEffect::kBuffering;
}

/// The effect of an operator on the fields of a sample.
enum class OpRole : uint8_t {
  kNone,    ///< of operators whose effect is not OpEffect::kContent
  kValues,  ///< changes or makes fields
  kChoice,  ///< keeps the fields it reads, and no others
  kNames,   ///< gives fields other names: `names`, old to new
  kFunction,  ///< the user's own; gets the fields it reads, or all where it names none. A Python one may give back any field
};

}  // namespace forebay
