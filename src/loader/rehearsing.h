#pragma once

#include <memory>
#include <optional>
#include <string>

#include "forebay/loader.h"
#include "loader/distributed.h"
#include "loader/kept_rows.h"
#include "loader/sample_classes.h"
#include "loader/streaming.h"
#include "pipeline/description.h"
#include "pipeline/execution_plan.h"
#include "stream/rehearsal_itinerary.h"

namespace forebay {

/// What a loader with a `.rehearse()` has beside all others: what is kept, and the steps that it is drawn into.
class RehearsalRun {
 public:
  struct DataSet {
    std::shared_ptr<const Source> source;
    std::shared_ptr<const Selection> selection;  ///< which of its samples take part
    std::shared_ptr<IndexedItinerary> steps;
    std::shared_ptr<const SampleClasses> classes = nullptr;  ///< what field_to_read() says
  };
  /// The field that tells classes, where a pass over the data set has to read it first, as of tables: read_classes(). Empty where none has. InvalidArgument where
  /// it cannot tell any.
  static Result<std::string> field_to_read(const Description& description, const Source& source);
  /// Over the steps of a data set. InvalidArgument where the field that tells classes is not known without reading, and nobody read it.
  static Result<std::shared_ptr<RehearsalRun>> open(const Description& description, DataSet data, uint64_t seed,
                                                    const Place& place, std::shared_ptr<KeptRows> results);
  /// Over those of a stream.
  static Result<std::shared_ptr<RehearsalRun>> open(const Description& description, std::shared_ptr<StreamRun> stream,
                                                    uint64_t seed, const Place& place,
                                                    std::shared_ptr<KeptRows> results);

  /// Where what came of samples is kept, with `where="here"`; null with any other, or none. `memory`: what the user gave, of which it is a part.
  static std::shared_ptr<KeptRows> open_results(const Description& description, std::optional<uint64_t> memory);

  std::shared_ptr<StepSource> itinerary() const { return itinerary_; }
  /// The next batch is that of `at`.
  void stands_at(const Cursor& at) { itinerary_->delivered(at); }
  /// What is kept of all steps before the next batch, as JSON for a state: ids by class.
  std::string kept() const;
  /// What read_kept() gave. Before the first step there.
  void go_on(Rehearsal kept) { itinerary_->begin_with(std::move(kept)); }
  /// The run goes on at another place, which the runner is told next; then go_on(), or goes_elsewhere(): what is kept stays.
  void pause() { itinerary_->pause(); }
  void goes_elsewhere() { itinerary_->begin_elsewhere(); }
  /// StateMismatch where it was kept of another data set; InvalidArgument for text that is no such state, or keeps more than this run has room for.
  Result<Rehearsal> read_kept(const std::string& json) const;
  /// StateMismatch where a stream begins with records of the same numbers: these would be taken for the kept ones.
  Status check_behind(const Rehearsal& kept) const;
  Rehearsal nothing() const { return Rehearsal(options_); }

 private:
  RehearsalRun() = default;
  RehearsalOptions options_;
  std::string source_;   // what identifies the data set, whichever of its samples take part
  int64_t samples_ = 0;  // ids are below, but for a stream's
  std::shared_ptr<RehearsalItinerary> itinerary_;
  std::shared_ptr<StreamRun> stream_;  // null: a data set
  bool here_ = false;                  // epochs of kept samples count
};

}  // namespace forebay
