#pragma once

#include <cstdint>

namespace forebay {

/// The effect of an operator on a plan. Code that composes plans decides by it, and knows no single
/// operator.
enum class OpEffect : uint8_t {
  kContent,    ///< changes fields of samples; all other effects are the loader's own work
  kTaking,     ///< selects samples by their numbers, without reading any
  kKeys,       ///< selects samples by their keys, without reading any
  kSelection,  ///< selects samples by their values, in a pass over all of them
  kOrder,      ///< puts the samples in another order
  kDrawing,    ///< draws the samples of an epoch: some several times, some not at all
  kRepeating,  ///< sets how many times an epoch passes over the samples
  /// Makes blocks of one length from rows of any length. What follows works on blocks: an order, a
  /// repetition, a batch, operators on columns and user code.
  kPacking,
  kReplay,         ///< adds samples of earlier steps to each batch
  kBatching,       ///< makes batches of samples; only functions on batches may follow
  kBatchFunction,  ///< calls a function of the user's with the fields of each batch
  /// Calls a function of the user's with the samples of each batch, which then stay apart. It
  /// follows the batching, and nothing follows it.
  kCollation,
  kCaching,    ///< stores the results of the steps before it
  kBuffering,  ///< bounds the records of a stream that wait to be used
};

/// True if such a step works on whole batches, behind the step that makes them.
constexpr bool works_on_batches(OpEffect effect) {
  return effect == OpEffect::kBatchFunction || effect == OpEffect::kCollation;
}

/// The way in which lengths of rows and sizes of pictures follow from those before an operator.
enum class SizeEffect : uint8_t {
  kByValues,  ///< they depend on values, too
  kSame,      ///< no length and no size changes
  kByHeader,  ///< the size of a picture that it decodes is told by the header
  kBySizes,   ///< a function of the sizes before; it works on pictures without pixels (LazyImage::of_unread)
};

/// The effect of an operator on the fields of a sample.
enum class OpRole : uint8_t {
  kNone,    ///< none; for operators whose effect is not OpEffect::kContent
  kValues,  ///< changes or makes fields
  kChoice,  ///< drops all fields but those that it reads
  kNames,   ///< renames fields
  /// Calls a function of the user's. A Python function may return any fields.
  kFunction,
};

}  // namespace forebay
