#include <functional>
#include <utility>

#include <fmt/format.h>

#include "loader/check.h"
#include "loader/compile.h"
#include "loader/epoch_by_epoch.h"
#include "loader/kept_beside.h"
#include "loader/loader_impl.h"
#include "loader/materialized_steps.h"
#include "loader/open_step_cache.h"
#include "loader/ordering.h"
#include "loader/packing_step.h"
#include "loader/sizing.h"
#include "loader/step_arguments.h"
#include "pipeline/cache_rules.h"

// What is decided before the first batch.

namespace forebay {

PassWatch Loader::Impl::watch_of_passes() {
  return {[this](std::shared_ptr<Runner> next) { return set_runner(std::move(next)); },
          [this](const RowError& error) {
            if (bad_sample(options.on_error) == BadSample::kRaise) return error.status;
            std::lock_guard lock(mutex);
            return errors->add(ErrorLog::kFilterPass, error);
          }};
}

// A pass over all samples and the epochs share one.
Result<std::shared_ptr<EntryCache>> Loader::Impl::open_cache(size_t step, const Hash128& cached, uint64_t least_bytes) {
  // Entries that a pass kept are found by the epochs; two caches of one place would each keep them.
  for (const auto& [known, cache] : opened)
    if (known == cached) return std::shared_ptr<EntryCache>(cache);
  FOREBAY_ASSIGN(std::shared_ptr<TieredCache> cache,
                 open_step_cache(description(), step, cached, least_bytes, *source, *chosen.selection, sizes.memory,
                                 sizes.local_ranks));
  if (peers && description().steps()[step].args.value("peers", Json()) != "none") cache = peers->join(std::move(cache));
  opened.emplace_back(cached, cache);
  caches.push_back(cache);
  return std::shared_ptr<EntryCache>(std::move(cache));
}

Status Loader::Impl::prepare() {
  if (prepared) return {};
  FOREBAY_RETURN_IF_ERROR(usable());
  FOREBAY_ASSIGN(const std::optional<int64_t> limit, error_limit(options.max_errors, source->size()));
  {
    std::lock_guard lock(mutex);
    errors.emplace(limit);
  }
  CompileInput input{&description(), description().steps().size(), false, source, nullptr, options.seed};
  input.open_cache = std::bind_front(&Impl::open_cache, this);
  kept_rows = RehearsalRun::open_results(description(), sizes.memory);
  input.kept_results = kept_rows;
  FOREBAY_RETURN_IF_ERROR(stream ? prepare_stream(input) : prepare_samples(input));
  // Last: from here on other threads read what was set above without a lock.
  prepared = true;
  return {};
}

Status Loader::Impl::prepare_samples(CompileInput& input) {
  FOREBAY_ASSIGN(chosen, choose_samples(input, sizes, watch_of_passes()));
  input.selection = chosen.selection;
  FOREBAY_RETURN_IF_ERROR(pack_samples(input, sizes, watch_of_passes(), &chosen));
  input.packing = chosen.packing;
  const ScheduleOptions schedule = schedule_of(description(), chosen.size(), place.world_size);
  FOREBAY_RETURN_IF_ERROR(schedule.check());
  FOREBAY_ASSIGN(plan, compile(input));
  FOREBAY_ASSIGN(Ordering ordering, chosen.order(find_step(description(), OpRole::kOrder), units(), options.seed));
  warn_of_shared_lanes(ordering, place.world_size);
  FOREBAY_RETURN_IF_ERROR(choose_deal(description(), schedule, dealing(place.world_size), &ordering));
  SizingInput sizing = sizes;
  sizing.block = ordering.block;
  sizing.lanes = lanes_of_rank(ordering, place.world_size);
  sizing.old_rows = old_rows(description());
  sizing.caches = cached_bytes(caches, sizes.memory) + (kept_rows ? kept_rows->most_bytes() : 0);
  std::string by;
  if (find_step(description(), OpRole::kRehearse) != nullptr) {
    FOREBAY_ASSIGN(by, RehearsalRun::field_to_read(description(), *source));
  }
  if (!by.empty()) sizing.classes = SampleClasses::expected_bytes(chosen.selection->size());
  FOREBAY_ASSIGN(RunnerOptions runner_options, choose_sizes(*plan, sizing));
  if (peers && !chosen.packing) set_first_homes(*peers, *plan, ordering, chosen.selection, schedule);
  dealt = ordering.dealt;
  if (peers) tell_run(*job, description(), *source, chosen, ordering, options.seed, place.world_size);
  runner_options.beside = beside();
  const auto steps =
      std::make_shared<IndexedItinerary>(std::move(ordering.order), Schedule(schedule, std::move(ordering.deal)),
                                         options.seed, place.rank, options.epochs, chosen.packing);
  itinerary = steps;
  if (follows_epoch(description().steps().front())) itinerary = std::make_shared<EpochByEpoch>(steps);
  if (find_step(description(), OpRole::kRehearse) != nullptr) {
    RehearsalRun::DataSet data{source, chosen.selection, steps};
    if (!by.empty()) {
      FOREBAY_ASSIGN(data.classes, read_classes(input, by, sizes, watch_of_passes()));
      classes = data.classes;
      runner_options.index_bytes = source->index_bytes() + classes->bytes();
    }
    FOREBAY_ASSIGN(rehearsal, RehearsalRun::open(description(), std::move(data), options.seed, place, kept_rows));
    itinerary = rehearsal->itinerary();
    FOREBAY_RETURN_IF_ERROR(begin_rehearsal());
  }
  return start(std::move(runner_options));
}

std::vector<RunnerOptions::Beside> Loader::Impl::beside() const {
  std::vector<RunnerOptions::Beside> all = kept_beside(*plan, caches, sizes.memory);
  if (kept_rows) all.push_back({Use::kCaches, kept_rows, ByteBudget::Beside::kEntries, kept_rows->most_bytes()});
  return all;
}

// With what a loader before this one kept.
Status Loader::Impl::begin_rehearsal() {
  if (options.rehearsal.empty()) return {};
  FOREBAY_ASSIGN(const Checkpoint before, Checkpoint::from_json(options.rehearsal));
  if (before.rehearsal.empty())
    return invalid_argument("rehearsal=: this state keeps nothing: its pipeline has no .rehearse()");
  FOREBAY_ASSIGN(Rehearsal kept, rehearsal->read_kept(before.rehearsal));
  FOREBAY_RETURN_IF_ERROR(rehearsal->check_behind(kept));
  rehearsal->go_on(std::move(kept));
  return {};
}

Status Loader::Impl::prepare_stream(CompileInput& input) {
  input.source = source;
  input.selection = chosen.selection = records_of_stream();
  FOREBAY_ASSIGN(plan, compile(input));
  SizingInput sizing = sizes;
  sizing.old_rows = old_rows(description());
  sizing.caches = stream->bytes() + (kept_rows ? kept_rows->most_bytes() : 0);
  FOREBAY_ASSIGN(RunnerOptions runner_options, choose_sizes(*plan, sizing));
  runner_options.beside = beside();
  runner_options.beside.push_back(
      {Use::kFetched, stream->stream().kept(), ByteBudget::Beside::kEntries, stream->bytes()});
  if (const std::shared_ptr<KeptBytes> lent = stream->lent_bytes())
    runner_options.beside.push_back({Use::kFetched, lent, ByteBudget::Beside::kEntries, stream->bytes()});
  itinerary = stream->itinerary();
  if (stream->keeps_old() || find_step(description(), OpRole::kRehearse) != nullptr) {
    FOREBAY_ASSIGN(rehearsal, RehearsalRun::open(description(), stream, options.seed, place, kept_rows));
    itinerary = rehearsal->itinerary();
    runner_options.beside.push_back(
        {Use::kCaches, stream->kept_bytes(), ByteBudget::Beside::kEntries, stream->bytes()});
    FOREBAY_RETURN_IF_ERROR(begin_rehearsal());
  }
  // The runner first: who is told of arrivals has to be there.
  FOREBAY_RETURN_IF_ERROR(start(std::move(runner_options)));
  stream->on_arrival([run = std::weak_ptr<Runner>(runner)] {
    if (const std::shared_ptr<Runner> running = run.lock()) running->look_again();
  });
  stream->begin();
  return {};
}

Status Loader::Impl::start(RunnerOptions runner_options) {
  runner_options.bad_sample = bad_sample(options.on_error);
  if (const OpSpec* batch = find_step(description(), OpRole::kBatch)) {
    for (std::string& name : field_list(batch->args.value("ragged", Json())))
      runner_options.ragged.insert(std::move(name));
  }
  return set_runner(std::make_shared<Runner>(Engine::shared(), plan, itinerary, std::move(runner_options)));
}

Checkpoint Loader::Impl::checkpoint() const {
  Checkpoint state;
  state.cursor = runner->cursor();
  if (stream) {
    state.stream = stream->place(state.cursor);
  } else {
    state.samples = chosen.size();
  }
  if (rehearsal) state.rehearsal = rehearsal->kept();
  state.dataset = hash128(source->version().to_string() + chosen.version).to_string();
  // Hashes and not texts: a state is small, and has no path or argument of the user's in it.
  state.pipeline = fingerprint_of(description(), *source).to_string();
  state.seed = hash128(fmt::format("seed {}", options.seed)).to_string();
  return state;
}

Status Loader::Impl::go_to(const Checkpoint& saved) {
  std::optional<StreamPlace> place_in_stream;
  std::optional<Rehearsal> kept;
  if (stream) {
    FOREBAY_ASSIGN(place_in_stream, stream->read_place(saved.stream));
  }
  if (rehearsal) {
    kept = rehearsal->nothing();
    if (!saved.rehearsal.empty()) {
      FOREBAY_ASSIGN(kept, rehearsal->read_kept(saved.rehearsal));
    }
  }
  // What could be refused has been read by now. Between the two places no step is known, so the runner begins none.
  if (stream) stream->pause();
  if (rehearsal) rehearsal->pause();
  runner->seek(saved.cursor);
  if (rehearsal) rehearsal->go_on(std::move(*kept));
  if (stream) stream->go_on(saved.cursor, std::move(*place_in_stream));
  return {};
}

void Loader::Impl::go_to_beginning_of(int64_t epoch) {
  if (rehearsal) rehearsal->pause();
  runner->seek({epoch, 0, 0});
  if (rehearsal) rehearsal->goes_elsewhere();
}

}  // namespace forebay
