#include <utility>

#include <fmt/format.h>

#include "loader/compile/batch_stages.h"
#include "loader/compile/compile.h"
#include "loader/compile/sizing.h"
#include "loader/describe/check.h"
#include "loader/describe/materialized_steps.h"
#include "loader/describe/step_arguments.h"
#include "loader/loader_impl.h"
#include "pipeline/cache_rules.h"
#include "pipeline/op_spec.h"

// Decisions before the first batch, and moves to other places.

namespace forebay {

PassCallbacks Loader::Impl::pass_callbacks() {
  const Lock held(mutex);
  return {[this](std::shared_ptr<Runner> next) { return set_runner(std::move(next)); },
          [this](const RowError& error) {
            if (bad_sample(input.options.errors.on_error) == BadSample::kRaise) return error.status;
            Lock lock(mutex);
            return errors->add(ErrorLog::kFilterPass, error);
          },
          closed.get_token()};
}

Status Loader::Impl::prepare() {
  if (prepared) return {};
  FOREBAY_RETURN_IF_ERROR(usable());
  FOREBAY_ASSIGN(const std::optional<int64_t> limit,
                 error_limit(input.options.errors.max_errors, run->source()->size()));
  {
    Lock lock(mutex);
    errors.emplace(limit);
  }
  RunSetup setup{.branches = {{.description = &description(),
                               .end = sample_steps(description()),
                               .source = run->source(),
                               .selection = nullptr,  // set by choose()
                               .seed = input.options.seed}},
                 .callbacks = pass_callbacks(),
                 .sizes = input.sizes};
  FOREBAY_RETURN_IF_ERROR(run->choose(setup));
  FOREBAY_ASSIGN(plan, compile(setup.branches, batch_stages(description(), input.options.seed)));
  setup.plan = plan;
  FOREBAY_RETURN_IF_ERROR(run->order(setup));
  FOREBAY_ASSIGN(setup.runner, choose_sizes(*plan, setup.sizes));
  FOREBAY_RETURN_IF_ERROR(run->open_steps(setup));
  FOREBAY_RETURN_IF_ERROR(start(std::move(setup.runner)));
  run->begin(current());
  // Set last: once it is true, other threads read the members above without a lock.
  prepared = true;
  return {};
}

Status Loader::Impl::start(RunnerOptions options) {
  options.bad_sample = bad_sample(input.options.errors.on_error);
  if (input.options.batch_memory) options.batch_memory = input.options.batch_memory;
  if (const OpSpec* batch = find_step(description(), OpEffect::kBatching)) {
    for (std::string& name : field_list(batch->args.value("ragged", Json()))) options.ragged.insert(std::move(name));
  }
  return set_runner(std::make_shared<Runner>(Engine::shared(), *plan, run->steps(), std::move(options)));
}

// A state holds hashes instead of texts, so it is small and has no path or argument of the user.
Checkpoint Loader::Impl::identity() const {
  const Source& source = *run->source();
  Checkpoint state;
  state.samples = run->size();
  state.dataset = hash128(source.version().to_string() + run->selection_version()).to_string();
  state.pipeline = fingerprint_of(description(), source).to_string();
  state.seed = hash128(fmt::format("seed {}", input.options.seed)).to_string();
  state.parts = run->parts();
  return state;
}

Status Loader::Impl::load(const Checkpoint& saved, bool strict) {
  FOREBAY_RETURN_IF_ERROR(check_same(saved, identity(), run->is_endless(), strict));
  if (saved.cursor.epoch > run->last_epoch())
    return invalid_argument(
        fmt::format("the state is of epoch {}, and the last epoch is {}", saved.cursor.epoch, run->last_epoch()));
  if (input.options.restart && saved.changes && is_before({saved.cursor.epoch, 0, 0}, saved.changes->since))
    return invalid_argument(
        "with restart=True epochs begin anew, and weights were changed within the epoch of this state; load it with "
        "restart=False, or load a state of an epoch's end");
  FOREBAY_RETURN_IF_ERROR(restore(saved));
  epoch_over = false;
  at_loaded_state = true;
  return {};
}

// The run knows no step between pause() and resume(), so the runner begins none.
Status Loader::Impl::restore(const Checkpoint& saved) {
  FOREBAY_ASSIGN(const Run::Resume resume, run->load(saved));
  run->pause();
  current()->seek(saved.cursor);
  resume();
  return {};
}

Status Loader::Impl::change(const PlanEdit& edit) {
  FOREBAY_RETURN_IF_ERROR(usable());
  FOREBAY_RETURN_IF_ERROR(prepare());
  const std::shared_ptr<Runner> running = current();
  const Cursor at = running->cursor();
  if (input.options.restart && at.position > 0)
    return invalid_argument(
        fmt::format("{}: with restart=True epochs begin anew; make the call between epochs", edit.call));
  FOREBAY_ASSIGN(const Run::Resume resume, run->change(edit, at));
  if (!resume) return {};
  running->seek(at);
  resume();
  return {};
}

void Loader::Impl::seek_to_epoch(int64_t epoch) {
  run->pause();
  current()->seek({epoch, 0, 0});
  run->resume_at_epoch();
}

}  // namespace forebay
