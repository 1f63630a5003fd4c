#pragma once

#include <memory>
#include <string>

#include "loader/compile/ordering.h"
#include "loader/samples/reading_pass.h"

namespace forebay {

/// Which samples of a data set take part, and what becomes the loader's own samples.
struct ChosenSamples {
  std::shared_ptr<const Selection> selection;
  std::shared_ptr<const Packing> packing;  ///< null: these are the samples; else its blocks are
  std::string version;                     ///< tells choices apart that came of reading the data set

  int64_t size() const { return packing ? packing->size() : selection->size(); }
  /// What batches call one of them: the id of a sample, or a block's number.
  int64_t id_at(int64_t index) const { return packing ? index : selection->id_at(index); }
  /// Their order; see choose_order().
  Result<Ordering> order(const OpSpec* shuffle, const ChunkSource* chunks, uint64_t seed) const {
    return packing ? choose_order(shuffle, chunks, *packing, seed) : choose_order(shuffle, chunks, *selection, seed);
  }
};

/// Carries out every `.take()` and `.filter()` of a description, the latter in a pass each over all samples that got so far.
Result<ChosenSamples> choose_samples(const CompileInput& whole, const SizingInput& sizes, const PassWatch& watch);

/// Carries out its `.pack()`, if it has one, in a pass over the samples that were chosen (`whole.selection`).
Status pack_samples(const CompileInput& whole, const SizingInput& sizes, const PassWatch& watch, ChosenSamples* chosen);

}  // namespace forebay
