#pragma once

#include <memory>
#include <optional>
#include <string>

#include "loader/compile/ordering.h"
#include "loader/samples/reading_pass.h"
#include "plan/bucket_rules.h"

namespace forebay {

/// Draws of an epoch, where not each sample comes once: it makes their order.
class Drawing {
 public:
  virtual ~Drawing() = default;
  virtual Result<Ordering> order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                                 uint64_t seed) const = 0;
};

/// The selected samples of a data set, and the items that its batches consist of.
struct ChosenSamples {
  std::shared_ptr<const Selection> selection;
  std::shared_ptr<const Packing> packing = nullptr;  ///< its blocks are the items; null: the samples are
  /// Their sizes, if blocks are made of the samples of all branches.
  std::shared_ptr<const SequenceSizes> sizes = nullptr;
  std::optional<PackedSequences> sequences = {};     ///< of blocks of either kind
  std::shared_ptr<const Drawing> drawing = nullptr;  ///< null: each item comes once in a pass
  SampleLengths lengths = nullptr;                   ///< if batches are made by them
  std::string version = {};                          ///< identifies choices that depend on data that was read

  int64_t size() const { return packing ? packing->size() : selection->size(); }
  /// True if the items are the samples, each once in a pass: then more of them go on with a pass of
  /// fewer.
  bool are_samples() const { return !packing && !drawing; }
  /// Id of an item in batches: the id of a sample, or the number of a block.
  int64_t id_at(int64_t index) const { return packing ? index : selection->id_at(index); }
  /// Order of the items; see choose_order().
  Result<Ordering> order(const OpSpec* shuffle, const ChunkSource* chunks, uint64_t seed) const {
    if (drawing) return drawing->order(shuffle, chunks, *selection, seed);
    return packing ? choose_order(shuffle, chunks, *packing, seed) : choose_order(shuffle, chunks, *selection, seed);
  }
};

/// Applies every `.take()`, `.keep_keys()` and `.filter()` of a description. Each filter takes a
/// pass over all samples that earlier steps selected.
Result<ChosenSamples> choose_samples(const CompileInput& whole, const SizingInput& sizes,
                                     const PassCallbacks& callbacks);

/// Applies the `.pack()` of a description, if any, in a pass over the samples in `whole.selection`. If
/// its blocks are made anew in each epoch, it only measures the samples.
Status pack_samples(const CompileInput& whole, const SizingInput& sizes, const PassCallbacks& callbacks,
                    ChosenSamples* chosen);

/// Measures the lengths for a `.bucket()` of a description, if any, in a pass over the samples in
/// `whole.selection`.
Status measure_samples(const CompileInput& whole, const SizingInput& sizes, const PassCallbacks& callbacks,
                       ChosenSamples* chosen);

}  // namespace forebay
