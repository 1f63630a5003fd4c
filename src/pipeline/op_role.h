#pragma once

#include <cstdint>

namespace forebay {

/// What an operator is to those who compose a plan.
enum class OpRole : uint8_t {
  kValues,  ///< changes or makes fields
  kChoice,  ///< keeps the fields it reads, and no others
  kNames,   ///< gives fields other names: `names`, old to new
  kFunction,  ///< the user's own; gets the fields it reads, or all where it names none. A Python one may give back any field
  kTake,      ///< only `n` of the samples: the loader's own work
  kOnly,      ///< only the samples with certain values: the loader's own work
  kFilter,    ///< only the samples for which the user's function is true: the loader's own work
  kOrder,     ///< puts the samples in another order
  kBatch,     ///< puts samples together: nothing may follow
  kKeep,      ///< keeps what the steps before it made
  kRehearse,  ///< puts old samples into each batch: the loader's own work. Only a batch may follow, or where it says so steps that make content
  kBuffer,    ///< what becomes of records that a source without an end gives too fast: the loader's own work
  kPack,  ///< makes samples of one length of rows that differ: the loader's own work. Only an order and a batch may follow
};

/// What a step changes, for composers that need not know which operator it is.
enum class OpEffect : uint8_t {
  kContent,    ///< fields of samples
  kSelection,  ///< which samples of the data set come
  kMixture,    ///< what a sample or a batch is made of: packed rows, replayed samples
  kOrder,      ///< the order of samples
  kNothing,    ///< neither samples nor their order, so a run may go on with another such step
};

constexpr OpEffect effect_of(OpRole role) {
  switch (role) {
    case OpRole::kValues:
    case OpRole::kChoice:
    case OpRole::kNames:
    case OpRole::kFunction: return OpEffect::kContent;
    case OpRole::kTake:
    case OpRole::kOnly:
    case OpRole::kFilter: return OpEffect::kSelection;
    case OpRole::kRehearse:
    case OpRole::kPack: return OpEffect::kMixture;
    case OpRole::kOrder: return OpEffect::kOrder;
    case OpRole::kBatch:
    case OpRole::kKeep:
    case OpRole::kBuffer: return OpEffect::kNothing;
  }
  return OpEffect::kContent;
}

}  // namespace forebay
