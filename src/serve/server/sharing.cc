#include "serve/server/sharing.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pipeline/op_spec.h"
#include "serve/server/own_feed.h"

namespace forebay {

namespace {

/// Returns the steps on a source that is open already, so that it is not listed again.
UserPipeline with_steps(const Pipeline& source, const UserPipeline& whole) {
  const std::vector<OpSpec>& steps = whole.pipeline.description().steps();
  Description result = source.description();
  for (size_t i = 1; i < steps.size(); ++i) result = result.append(steps[i]);
  return {Pipeline(std::make_shared<const Description>(std::move(result))), whole.answer};
}

Result<UserPipeline> pipeline_of(const OpenRequest& request, const Sharing& sharing) {
  if (request.code_source.empty()) {
    FOREBAY_ASSIGN(Pipeline pipeline, Pipeline::from_json(request.pipeline));
    return UserPipeline{std::move(pipeline)};
  }
  if (sharing.load_code) return sharing.load_code(request.code_source);
  return unsupported("this server is a program that cannot run functions of other languages");
}

/// Returns a key of everything that determines a client's batches. Equal keys mean equal batches at
/// equal states.
TogetherKey batches_key(const OpenRequest& request) {
  LoaderOptions same = request.options;
  // The client itself returns to the beginning of an epoch.
  same.restart = false;
  // These affect speed and memory, but not the batches.
  same.resources.threads.reset();
  same.resources.requests.reset();
  same.resources.memory.reset();
  return {request.pipeline + to_message(same), request.functions};
}

/// Returns a key that the ranks of one job share, since they read different samples of an epoch.
std::string job_key(const OpenRequest& request, const std::string& pipeline) {
  // A single rank is a job of its own. The address of its request differs from that of every other
  // open request.
  if (request.options.job.world_size.value_or(1) < 2) return fmt::format("{}", static_cast<const void*>(&request));
  return fmt::format("{} {} {}", *request.options.job.world_size, request.options.seed, pipeline);
}

/// Opens and prepares a loader for its first batch. `stop` ends that.
Result<std::shared_ptr<Loader>> open_ready(const UserPipeline& pipeline, LoaderOptions options,
                                           const std::stop_token& stop) {
  options.stop = stop;
  FOREBAY_ASSIGN(std::unique_ptr<Loader> opened, Loader::open(pipeline.pipeline, options));
  std::shared_ptr<Loader> loader;
  if (pipeline.answer) {
    // Before the preparation, which may call a filter.
    FOREBAY_ASSIGN(loader, pipeline.answer(std::move(opened)));
  } else {
    loader = std::move(opened);
  }
  // prepare() may take a while (a pass over the data) and has no stop token of its own. The
  // callback captures the address, because `loader` has been moved into the result when the
  // callback ends.
  const std::stop_callback closes(stop, [raw = loader.get()] { raw->close(); });
  std::shared_ptr<void> turn;
  if (options.passes) {
    FOREBAY_ASSIGN(turn, options.passes->take_turn(stop));
  }
  FOREBAY_RETURN_IF_ERROR(loader->prepare());
  return loader;
}

/// Returns the function that checks whether new clients share more steps than are cached now.
FindSuccessor find_successor_for(Sharing& sharing, uint64_t entry, Description steps, LoaderOptions options) {
  return [&sharing, entry, steps = std::move(steps), options = std::move(options),
          cached_steps = size_t{0}](uint64_t* seen) mutable -> OpenSuccessor {
    const uint64_t version = sharing.prefixes.version();
    if (version == *seen) return {};
    *seen = version;
    const size_t common = sharing.prefixes.steps_of(entry);
    if (common <= cached_steps) return {};
    cached_steps = common;
    const uint64_t bytes =
        std::min(sharing.prefixes.reserve_bytes(steps, common), options.resources.memory.value_or(UINT64_MAX) / 4);
    const Description cached = with_cache_after(steps, common, bytes);
    if (cached.steps().size() == steps.steps().size()) return {};
    // The source is listed again, because a loader learns object versions only if it caches
    // results.
    return [pipeline = UserPipeline{Pipeline(std::make_shared<const Description>(cached))}, options,
            shares = fmt::format("what is made up to {}", steps.steps()[common - 1].name)](
               const std::stop_token& stop) -> Result<Successor> {
      FOREBAY_ASSIGN(std::shared_ptr<Loader> loader, open_ready(pipeline, options, stop));
      return Successor{std::move(loader), shares};
    };
  };
}

}  // namespace

Result<std::unique_ptr<OpenedFeed>> OpenedFeed::open(const OpenRequest& request, Sharing& sharing,
                                                     std::stop_token stop) {
  FOREBAY_ASSIGN(const UserPipeline whole, pipeline_of(request, sharing));
  // Loaders that are opened later outlive this request. abort() closes their feed.
  LoaderOptions options = request.options;
  options.batch_memory = sharing.batch_memory;
  if (request.together > 0) options.passes = sharing.together->passes(batches_key(request));
  FOREBAY_ASSIGN(std::shared_ptr<Loader> loader, open_ready(whole, options, stop));
  if (!request.state.empty()) FOREBAY_RETURN_IF_ERROR(loader->load_state(request.state));
  const Description& steps = whole.pipeline.description();
  std::unique_ptr<OpenedFeed> opened(new OpenedFeed(sharing, steps.to_string()));
  if (request.together > 0) {
    const Pipeline source = loader->opened();
    FOREBAY_ASSIGN(opened->feed_, together_feed(
                                      std::move(loader), sharing.together, batches_key(request), request.together,
                                      [source, whole, options](const std::stop_token& ends) {
                                        return open_ready(with_steps(source, whole), options, ends);
                                      },
                                      stop));
    return opened;
  }
  if (whole.answer) {
    // A cache of shared steps would renumber the steps behind it, by which functions are found.
    opened->feed_ = own_feed(std::move(loader), [](uint64_t*) { return OpenSuccessor(); });
    return opened;
  }
  opened->entry_ = sharing.prefixes.add(steps, job_key(request, request.pipeline));
  opened->feed_ = own_feed(std::move(loader), find_successor_for(sharing, opened->entry_, steps, options));
  return opened;
}

OpenedFeed::~OpenedFeed() {
  if (entry_ != 0) sharing_.prefixes.remove(entry_);
}

}  // namespace forebay
