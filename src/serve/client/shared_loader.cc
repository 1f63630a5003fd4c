#include "forebay/shared_loader.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "forebay/ledger.h"
#include "loader/describe/check.h"
#include "loader/peers/distributed.h"
#include "loader/run/checkpoint.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"
#include "runtime/fork_guard.h"
#include "serve/client/connection.h"
#include "serve/client/shareable.h"
#include "serve/client/start_server.h"
#include "serve/socket_path.h"
#include "serve/wire/ledger_message.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr int kMaxRestarts = 5;                   // restarts in a row without a batch
constexpr std::chrono::seconds kExitsWithin{10};  // a server that exits does so within this time
constexpr int kMaxAttempts = 10;                  // attempts to connect: a server may be exiting

std::shared_ptr<const std::vector<std::string>> names_of_parts(const Description& description) {
  const std::vector<Branch> branches = branches_of(description);
  if (branches.size() == 1) return nullptr;
  std::vector<std::string> names;
  for (const Branch& branch : branches) names.push_back(branch.name());
  return std::make_shared<const std::vector<std::string>>(std::move(names));
}

}  // namespace

struct SharedLoader::Impl {
  Pipeline pipeline;
  LoaderOptions options;
  ShareOptions share;
  std::string path;
  OpenRequest request;
  const uint64_t generation = process_generation();

  mutable Mutex mutex;
  std::shared_ptr<Connection> connection FOREBAY_GUARDED_BY(mutex);
  std::optional<Position> at FOREBAY_GUARDED_BY(mutex);  // position of the client; empty if only the server knows it
  std::string last_state FOREBAY_GUARDED_BY(mutex);      // last known position
  int64_t size FOREBAY_GUARDED_BY(mutex) = 0;
  std::string fingerprint FOREBAY_GUARDED_BY(mutex);
  /// Batch::part_names of all batches.
  std::shared_ptr<const std::vector<std::string>> part_names;
  bool closed FOREBAY_GUARDED_BY(mutex) = false;
  /// The next answer is dropped if it is the end of an epoch that is over.
  bool drop_next_end FOREBAY_GUARDED_BY(mutex) = false;
  bool end_pending FOREBAY_GUARDED_BY(mutex) = false;      // an epoch's last batch was delivered, but not its end
  bool end_lost FOREBAY_GUARDED_BY(mutex) = false;         // the server that would have delivered that end was lost
  bool at_loaded_state FOREBAY_GUARDED_BY(mutex) = false;  // a state was loaded, and no batch was delivered since
  std::atomic<int> restarts = 0;
  Mutex reconnecting;  // held by the thread that connects to another server

  bool starts_server() const { return share.server.empty() || share.server == "auto" || !share.code.source.empty(); }
  bool in_child() const { return process_generation() != generation; }

  Status usable() const {
    if (in_child())
      return invalid_argument(
          "this loader was made before a fork and its server knows the parent process; make a new one "
          "in the child");
    const Lock lock(mutex);
    return closed ? invalid_argument(
                        "the loader is closed; make a new one (its state_dict() goes on where this one "
                        "stopped)")
                  : Status();
  }
  std::shared_ptr<Connection> current() const {
    const Lock lock(mutex);
    return connection;
  }
  bool is_at_loaded_state() const {
    const Lock lock(mutex);
    return at_loaded_state;
  }
  bool is_at_state(const std::string& state) const {
    const Lock lock(mutex);
    return at && at->state == state;
  }
  // `given` is the epoch of the batch that led to this position.
  void set_position(std::optional<Position> now, std::optional<int64_t> given) {
    const Lock lock(mutex);
    at = std::move(now);
    if (at) last_state = at->state;
    end_pending = at && given && *given != at->epoch;
  }

  struct Attempt {
    Result<std::shared_ptr<Connection>> connection;
    bool may_retry = false;  ///< the failure may be that of a server that is just exiting
  };
  Attempt open_connection();
  Status adopt(const std::shared_ptr<Connection>& opened);
  Status connect();
  Status connect_again(const std::shared_ptr<Connection>& lost, const Status& why);
  /// What next_for() does about the end of an epoch that a lost server would have delivered.
  enum class LostEnd : uint8_t { kNone, kDeliver, kDrop };
  LostEnd take_lost_end();
  /// Called when the server has answered. Returns whether the end of the epoch before is dropped.
  bool note_answer() {
    const Lock lock(mutex);
    at_loaded_state = false;
    return std::exchange(drop_next_end, false);
  }
  Status move_server_back();
  Status server_lost(const Status& why) const;
  Result<std::string> ask(MessageType type, const std::string& body);
  /// Returns an empty description if the server does not answer.
  SourceInfo describe() {
    const Result<std::string> answer = ask(MessageType::kDescribe, "");
    Result<SourceInfo> source = answer.ok() ? from_message<SourceInfo>(*answer) : answer.status();
    return source.ok() ? std::move(*source) : SourceInfo();
  }
  Result<Position> position();
  Status fetch_info();
  Status change_position(MessageType type, const std::string& body);
  Result<std::optional<Batch>> accept_answer(const std::shared_ptr<Connection>& from, Connection::Next next,
                                             bool* timed_out);
  Status load(const LoadRequest& of);
  void restart_epoch();
};

// Connects to a server, or starts one. A server that is full has refused the client and would do so
// again, so its refusal is not worth a retry.
SharedLoader::Impl::Attempt SharedLoader::Impl::open_connection() {
  Result<FileDescriptor> socket = connect_or_start(path, starts_server() ? share.program : std::vector<std::string>(),
                                                   starts_server(), options.stop);
  if (!socket.ok()) return {socket.status()};
  Connection::Opening opening = Connection::open(std::move(*socket));
  const bool may_retry = opening.connection.status().code() == Code::kUnavailable && !opening.refused;
  return {std::move(opening.connection), may_retry};
}

// Makes a connection the current one. A new server continues at the client's position. The lost one
// may have been ahead of it.
Status SharedLoader::Impl::adopt(const std::shared_ptr<Connection>& opened) {
  const Lock lock(mutex);
  if (closed) return cancelled("the loader was closed");
  connection = opened;
  if (at || !last_state.empty()) request.state = at ? at->state : last_state;
  end_lost = end_lost || std::exchange(end_pending, false);
  return {};
}

Status SharedLoader::Impl::connect() {
  Status status;
  const auto patient_until = std::chrono::steady_clock::now() + kExitsWithin;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const Attempt attempted = open_connection();
    const Result<std::shared_ptr<Connection>>& opened = attempted.connection;
    status = opened.status();
    if (attempted.may_retry && std::chrono::steady_clock::now() < patient_until) continue;
    if (!status.ok()) return status;
    FOREBAY_RETURN_IF_ERROR(adopt(*opened));
    // Opening may read a long listing. Closing the connection ends it.
    const std::stop_callback stops(options.stop, [&] { (*opened)->close(); });
    status = (*opened)->ask(MessageType::kOpen, to_message(request)).status();
    if (status.code() != Code::kUnavailable || !(*opened)->lost()) return status;
  }
  return status;
}

Status SharedLoader::Impl::server_lost(const Status& why) const {
  return unavailable(
             fmt::format("the server that makes these batches has gone ({}); start it again (forebay serve) and "
                         "open a loader with this one's state_dict()",
                         why.message()))
      .with_key(path);
}

Status SharedLoader::Impl::connect_again(const std::shared_ptr<Connection>& lost, const Status& why) {
  const Lock turn(reconnecting);
  if (current() != lost) return {};  // another thread has connected again
  if (!starts_server()) return server_lost(why);
  if (++restarts > kMaxRestarts)
    return unavailable(
        fmt::format("{} servers in a row ended before they gave a batch; what the last one said is in {}.log",
                    restarts.load(), path));
  log_warning(fmt::format("the server at {} is lost ({}); another one goes on where it stopped", path, why.message()));
  return connect();
}

Result<std::string> SharedLoader::Impl::ask(MessageType type, const std::string& body) {
  while (true) {
    FOREBAY_RETURN_IF_ERROR(usable());
    const std::shared_ptr<Connection> now = current();
    Result<std::string> answer = now->ask(type, body);
    if (answer.ok() || !now->lost()) return answer;
    FOREBAY_RETURN_IF_ERROR(connect_again(now, answer.status()));
  }
}

Status SharedLoader::Impl::fetch_info() {
  FOREBAY_ASSIGN(const std::string answer, ask(MessageType::kInfo, ""));
  FOREBAY_ASSIGN(LoaderInfo now, from_message<LoaderInfo>(answer));
  const Lock lock(mutex);
  at = std::move(now.position);
  last_state = at->state;
  size = now.size;
  fingerprint = std::move(now.fingerprint);
  return {};
}

Result<Position> SharedLoader::Impl::position() {
  {
    const Lock lock(mutex);
    if (at) return *at;
  }
  FOREBAY_RETURN_IF_ERROR(fetch_info());
  const Lock lock(mutex);
  return at.value_or(Position());
}

// A new server that continues after the last batch of an epoch does not know that the epoch's end
// is still to be delivered, so the client delivers it.
SharedLoader::Impl::LostEnd SharedLoader::Impl::take_lost_end() {
  const Lock lock(mutex);
  if (!std::exchange(end_lost, false)) return LostEnd::kNone;
  return std::exchange(drop_next_end, false) ? LostEnd::kDrop : LostEnd::kDeliver;
}

// Moves the current server back to the client's position.
Status SharedLoader::Impl::move_server_back() {
  (void)current()->discard_next();
  LoadRequest here;
  {
    const Lock lock(mutex);
    end_lost = std::exchange(end_pending, false);
    here = {.state = last_state};
  }
  return ask(MessageType::kLoadState, to_message(here)).status();
}

// Sends a request that changes the position. First moves the server, which may be a batch ahead,
// back to the client's position.
Status SharedLoader::Impl::change_position(MessageType type, const std::string& body) {
  FOREBAY_RETURN_IF_ERROR(usable());
  FOREBAY_ASSIGN(const Position here, position());
  (void)current()->discard_next();
  FOREBAY_RETURN_IF_ERROR(ask(MessageType::kLoadState, to_message(LoadRequest{.state = here.state})).status());
  FOREBAY_RETURN_IF_ERROR(ask(type, body).status());
  {
    const Lock lock(mutex);
    drop_next_end = end_pending = end_lost = false;
  }
  return fetch_info();
}

Status SharedLoader::Impl::load(const LoadRequest& of) {
  FOREBAY_RETURN_IF_ERROR(change_position(MessageType::kLoadState, to_message(of)));
  const Lock lock(mutex);
  at_loaded_state = true;
  return {};
}

// Takes an answer of `from`: a batch, the end of an epoch, or nothing yet.
Result<std::optional<Batch>> SharedLoader::Impl::accept_answer(const std::shared_ptr<Connection>& from,
                                                               Connection::Next next, bool* timed_out) {
  *timed_out = next.timed_out;
  if (next.timed_out) return std::optional<Batch>();
  restarts = 0;
  const bool drops_end = note_answer() && !next.batch;
  // An end that does not change the position is that of an epoch whose last batch was delivered.
  if (drops_end && is_at_state(next.after.state)) {
    *timed_out = true;
    return std::optional<Batch>();
  }
  set_position(std::move(next.after), next.batch ? std::optional(next.batch->epoch) : std::nullopt);
  // Another thread has replaced the server meanwhile, and the new one is at the position before
  // this batch.
  if (current() != from) FOREBAY_RETURN_IF_ERROR(move_server_back());
  // Blocks that samples of several parts share are of no part.
  if (next.batch && !next.batch->parts.empty()) next.batch->part_names = part_names;
  return std::move(next.batch);
}

// Implements LoaderOptions::restart. If the server is lost, the next batch reports that.
void SharedLoader::Impl::restart_epoch() {
  if (!options.restart || is_at_loaded_state()) return;
  const Result<Position> here = position();
  if (!here.ok()) return;
  Result<Checkpoint> checkpoint = Checkpoint::from_json(here->state);
  if (!checkpoint.ok() || checkpoint->cursor.position == 0) return;
  checkpoint->cursor = {checkpoint->cursor.epoch, 0, 0};
  (void)change_position(MessageType::kLoadState, to_message(LoadRequest{.state = checkpoint->to_json()}));
}

SharedLoader::SharedLoader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SharedLoader::~SharedLoader() {
  if (impl_->in_child()) {
    (void)impl_.release();
    return;
  }
  close();
}

Result<std::unique_ptr<SharedLoader>> SharedLoader::open(const Pipeline& pipeline, LoaderOptions options,
                                                         ShareOptions share) {
  auto impl = std::make_unique<Impl>();
  FOREBAY_RETURN_IF_ERROR(check_shared(options, share));
  FOREBAY_ASSIGN(impl->path, socket_path(share.server));
  FOREBAY_ASSIGN(impl->request.pipeline, portable(pipeline, share.code));
  impl->request.code_source = share.code.source;
  impl->request.functions = share.code.functions;
  FOREBAY_ASSIGN(const RankInfo rank_info,
                 find_rank_info(options.job.rank, options.job.world_size, process_environment()));
  options.job.rank = rank_info.rank;
  options.job.world_size = rank_info.world_size;
  if (!options.job.hosts && rank_info.hosts > 0) options.job.hosts = rank_info.hosts;
  impl->pipeline = pipeline;
  impl->part_names = names_of_parts(pipeline.description());
  impl->options = options;
  impl->share = std::move(share);
  impl->request.options = std::move(options);
  impl->request.together = impl->share.together;
  FOREBAY_RETURN_IF_ERROR(impl->connect());
  FOREBAY_RETURN_IF_ERROR(impl->fetch_info());
  impl->options.stop = {};
  return std::unique_ptr<SharedLoader>(new SharedLoader(std::move(impl)));
}

Status SharedLoader::prepare() { return impl_->usable(); }

void SharedLoader::begin_iteration() {
  impl_->restart_epoch();
  const Lock lock(impl_->mutex);
  impl_->drop_next_end = true;
}

Result<std::optional<Batch>> SharedLoader::next() {
  while (true) {
    bool timed_out = false;
    Result<std::optional<Batch>> batch = next_for(std::chrono::milliseconds(100), &timed_out);
    if (!timed_out) return batch;
  }
}

Result<std::optional<Batch>> SharedLoader::next_for(std::chrono::milliseconds timeout, bool* timed_out) {
  *timed_out = false;
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  if (const Impl::LostEnd end = impl_->take_lost_end(); end != Impl::LostEnd::kNone) {
    *timed_out = end == Impl::LostEnd::kDrop;  // the caller calls again
    return std::optional<Batch>();
  }
  const std::shared_ptr<Connection> connection = impl_->current();
  Result<Connection::Next> next = connection->next(timeout);
  if (next.ok()) return impl_->accept_answer(connection, std::move(*next), timed_out);
  if (connection->lost()) {
    FOREBAY_RETURN_IF_ERROR(impl_->connect_again(connection, next.status()));
    *timed_out = true;  // the caller calls again
    return std::optional<Batch>();
  }
  if (next.status().code() != Code::kCancelled) impl_->set_position({}, {});  // e.g. after a bad step
  return next.status();
}

// Does nothing: the server knows when it answered, and not when the answer was seen.
void SharedLoader::waited_for_interpreter(std::chrono::nanoseconds) {}

int64_t SharedLoader::batches_per_epoch() const {
  const Result<Position> at = impl_->position();
  return at.ok() ? at->batches_per_epoch : 0;
}

int64_t SharedLoader::epoch() const {
  const Result<Position> at = impl_->position();
  return at.ok() ? at->epoch : 0;
}

bool SharedLoader::finished() const {
  const Result<Position> at = impl_->position();
  return at.ok() && at->finished;
}

std::string SharedLoader::state() const {
  if (impl_->in_child()) return "";
  const Result<Position> at = impl_->position();
  if (at.ok()) return at->state;
  // After an error and a close() only the last known position is available.
  const Lock lock(impl_->mutex);
  return impl_->last_state;
}

int64_t SharedLoader::size() const {
  const Lock lock(impl_->mutex);
  return impl_->size;
}

std::string SharedLoader::fingerprint() const {
  const Lock lock(impl_->mutex);
  return impl_->fingerprint;
}

Pipeline SharedLoader::opened() const {
  return Pipeline(std::make_shared<const Description>(impl_->pipeline.description().steps().front()));
}

std::vector<FieldDescription> SharedLoader::source_fields() const { return impl_->describe().fields; }
std::vector<int64_t> SharedLoader::row_groups() const { return impl_->describe().row_groups; }
std::vector<std::string> SharedLoader::classes() const { return impl_->describe().classes; }
std::vector<DataWarning> SharedLoader::warnings() const { return impl_->describe().warnings; }

Status SharedLoader::set_epoch(int64_t epoch) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_ASSIGN(const Position here, impl_->position());
  return epoch == here.epoch ? Status() : impl_->change_position(MessageType::kSetEpoch, to_message(epoch));
}

int SharedLoader::rank() const { return *impl_->options.job.rank; }
int SharedLoader::world_size() const { return *impl_->options.job.world_size; }
const Pipeline& SharedLoader::pipeline() const { return impl_->pipeline; }

Status SharedLoader::load_state(const std::string& json, bool strict) {
  return impl_->load({json, strict, /*changed_parts=*/false});
}

Status SharedLoader::load_state_of_changed_parts(const std::string& json, bool strict) {
  return impl_->load({json, strict, /*changed_parts=*/true});
}

Status SharedLoader::set_weights(const std::map<std::string, double>& weights) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  return impl_->change_position(MessageType::kSetWeights, to_message(weights));
}

Status SharedLoader::set_sampling(std::vector<double>, const std::string&, const std::string&) {
  return unsupported(
      "set_sampling() is not for share= yet: a server goes on from states, which have no weights of samples; use "
      "share=None");
}

Ledger SharedLoader::stats() const {
  const Result<std::string> answer = impl_->ask(MessageType::kStats, "");
  Result<Ledger> ledger = answer.ok() ? from_message<Ledger>(*answer) : answer.status();
  return ledger.ok() ? std::move(*ledger) : Ledger();
}

Status SharedLoader::begin_trace(const std::string& path, uint64_t most_bytes) {
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).string();
  return impl_->ask(MessageType::kBeginTrace, to_message(TraceRequest{whole, most_bytes})).status();
}

Status SharedLoader::end_trace() { return closed() ? Status() : impl_->ask(MessageType::kEndTrace, "").status(); }

std::vector<ErrorEntry> SharedLoader::errors() const {
  const Result<std::string> answer = impl_->ask(MessageType::kErrors, "");
  Result<std::vector<ErrorEntry>> list = answer.ok() ? from_message<std::vector<ErrorEntry>>(*answer) : answer.status();
  return list.ok() ? std::move(*list) : std::vector<ErrorEntry>();
}

void SharedLoader::close() {
  if (impl_->in_child()) return;
  std::shared_ptr<Connection> last;
  {
    const Lock lock(impl_->mutex);
    impl_->closed = true;
    last = impl_->connection;
  }
  if (last) last->close();
}

bool SharedLoader::closed() const {
  if (impl_->in_child()) return true;
  const Lock lock(impl_->mutex);
  return impl_->closed;
}

}  // namespace forebay
