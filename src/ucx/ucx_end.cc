#include "ucx/ucx_end.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/same_secret.h"

namespace forebay {

namespace {

constexpr int kRoundsAtOnce = 64;  // of the worker; then deadlines and others have their turn, whatever comes
constexpr uint64_t kMostAddressBytes = 16 << 10;
constexpr std::chrono::milliseconds kEndPatience(200), kLongestLimit(std::chrono::hours(24));

uint64_t checksum_of(std::string_view address) { return hash128(address).low; }

// UCX reads as far as an address says that it goes: nothing gets there that did not come whole.
std::optional<std::string> address_of(const std::string& card) {
  uint64_t checksum = 0;
  constexpr size_t kBefore = sizeof(EndSecret) + sizeof checksum;
  if (card.size() <= kBefore) return std::nullopt;
  std::memcpy(&checksum, card.data() + sizeof(EndSecret), sizeof checksum);
  std::string address = card.substr(kBefore);
  return checksum == checksum_of(address) ? std::optional(std::move(address)) : std::nullopt;
}

}  // namespace

/// A question of another end, and the way back: by the connection's number, since that may be gone when the answer is there.
class UcxLoop::Received final : public ActiveMessages::Question {
 public:
  Received(UcxLoop& end, uint64_t connection, const MessageHead& head, Buffer bytes)
      : end_(end), connection_(connection), head_(head), bytes_(std::move(bytes)) {}
  std::span<const uint8_t> bytes() const override { return bytes_.span(); }
  void answer(uint64_t code, std::vector<Buffer> pieces) override {
    MessageHead head = head_;
    head.code = code;
    head.secret = {};
    end_.post([&end = end_, connection = connection_, head, pieces = std::move(pieces)]() mutable {
      end.connections_->send(connection, kAnswerMessage, head, std::move(pieces), 0);
    });
  }

 private:
  UcxLoop& end_;
  const uint64_t connection_;
  const MessageHead head_;
  const Buffer bytes_;
};

Result<std::unique_ptr<UcxEnd>> UcxEnd::open(ActiveMessageOptions options) {
  auto loop = std::make_shared<UcxLoop>(std::move(options));
  FOREBAY_RETURN_IF_ERROR(loop->begin());
  return std::make_unique<UcxEnd>(std::move(loop));
}

Status UcxLoop::begin() {
  std::array<uint64_t, 2> random{};
  // Up to 256 bytes come whole or not at all (getrandom(2)).
  if (::getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return unavailable("the system gives no random bytes");
  number_ = random[0];
  ids_ = random[1];
  FOREBAY_RETURN_IF_ERROR(worker_.open(options_.devices));
  FOREBAY_ASSIGN(address_, worker_.address());
  address_hash_ = checksum_of(address_);
  card_ = options_.secret + std::string(reinterpret_cast<const char*>(&address_hash_), sizeof address_hash_) + address_;
  connections_ =
      std::make_unique<Connections>(worker_, options_.patience, options_.idle,
                                    [this](uint64_t connection, const Status& why) { on_gone(connection, why); });
  FOREBAY_RETURN_IF_ERROR(handle_messages());
  try {
    thread_ = std::thread([self = shared_from_this()] {
      self->run();
      self->finish();
    });
  } catch (const std::system_error& error) {
    return unavailable(fmt::format("cannot start a thread for UCX: {}", error.what()));
  }
  return {};
}

void UcxLoop::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closing_.exchange(true)) return;
    worker_.wake();  // the thread is there as long as nobody has closed
  }
  if (!thread_.joinable()) return;
  // Closed from inside of an answer: the thread has a share of this, and ends when the answer has.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void UcxLoop::finish() {
  run_posted();  // what was asked last is answered, too
  while (!asked_.empty()) answer(asked_.begin()->first, cancelled("it is being closed"));
  connections_->close_all();
  // UCX has what is sent and received until it says so; at the latest when its worker ends.
  const Clock::time_point until = Clock::now() + kEndPatience;
  while ((connections_->is_anything_sent() || !receivings_.empty()) && Clock::now() < until) progress();
  worker_.close();
}

bool UcxLoop::post(std::function<void()> function) {
  const std::lock_guard lock(
      mutex_);  // also to wake it: close() has its turn behind this, and the worker is there until then
  if (closing_) return false;
  posted_.push_back(std::move(function));
  if (asleep_.exchange(false)) worker_.wake();
  return true;
}

Status UcxLoop::handle_messages() {
  const auto handle = [this](unsigned message, ucp_am_recv_callback_t function, uint32_t flags) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG |
                       UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    param.id = message;
    param.cb = function;
    param.arg = this;
    param.flags = flags;
    return ucp_worker_set_am_recv_handler(worker_.get(), &param);
  };
  ucs_status_t status = handle(kQuestionMessage, on_question, UCP_AM_FLAG_WHOLE_MSG);
  if (status == UCS_OK) status = handle(kAnswerMessage, on_answer, UCP_AM_FLAG_WHOLE_MSG);
  return status == UCS_OK ? Status() : ucx_trouble("UCX does not start", status);
}

void UcxLoop::run() {
  UcxWorker::own_this_thread();
  while (!closing_) {
    run_posted();
    bool busy = progress();
    take_arrived();
    const Clock::time_point now = Clock::now();
    end_late(now);
    busy |= connections_->settle(now);
    if (!busy) sleep();
  }
}

bool UcxLoop::progress() {
  int rounds = 0;
  while (rounds < kRoundsAtOnce && worker_.progress()) ++rounds;
  return rounds == kRoundsAtOnce;
}

void UcxLoop::sleep() {
  asleep_ = true;
  {
    const std::lock_guard lock(mutex_);  // what is posted from now on wakes
    if (closing_ || !posted_.empty()) asleep_ = false;
  }
  if (asleep_) worker_.sleep(until_next_deadline());
  asleep_ = false;
}

void UcxLoop::run_posted() {
  std::vector<std::function<void()>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& function : posted) function();
}

int UcxLoop::until_next_deadline() const {
  int64_t most = std::min<int64_t>(connections_->until_next_look().count(), 60'000);
  const Clock::time_point now = Clock::now();
  for (const auto* deadlines : {&limits_, &silences_}) {
    if (deadlines->empty()) continue;
    const int64_t left = std::chrono::ceil<std::chrono::milliseconds>(deadlines->begin()->first - now).count();
    most = std::clamp<int64_t>(left, 0, most);
  }
  return static_cast<int>(most);
}

void UcxLoop::end_late(Clock::time_point now) {
  while (!silences_.empty() && silences_.begin()->first <= now) {
    const uint64_t id = silences_.begin()->second;
    Asked& late = asked_.at(id);
    if (late.comes) {
      silences_.erase(std::exchange(late.silence, silences_.end()));
      continue;
    }
    // It may be slow, and it may be gone: that is found out over a new connection, since nothing would ever be said about this one.
    if (!connections_->is_heard_since(late.connection, late.begun) && !comes_over(late.connection))
      connections_->fail(late.connection, unavailable("no answer in time"));
    answer(id, unavailable("no answer in time"));
  }
  while (!limits_.empty() && limits_.begin()->first <= now) {
    const uint64_t id = limits_.begin()->second;
    const Asked& late = asked_.at(id);
    // An answer that has begun holds memory until its connection ends.
    if (late.comes || !connections_->is_heard_since(late.connection, late.begun))
      connections_->fail(late.connection, unavailable("no answer in time"));
    answer(id, unavailable("no answer in time"));
  }
}

bool UcxLoop::comes_over(uint64_t connection) const {
  return std::ranges::any_of(
      asked_, [&](const auto& each) { return each.second.connection == connection && each.second.comes; });
}

void UcxLoop::ask(Asking asking, OnAnswer on_answer) {
  const auto kept = std::make_shared<OnAnswer>(std::move(on_answer));
  if (!post([this, asking = std::move(asking), kept]() mutable { begin_asking(std::move(asking), std::move(*kept)); }))
    (*kept)(cancelled("it is being closed"));
}

void UcxLoop::begin_asking(Asking asking, OnAnswer on_answer) {
  const std::optional<std::string> address = address_of(asking.card);
  if (!address) return on_answer(corrupt("what it says of its UCX is damaged"));
  const Result<uint64_t> connection = connections_->connect(*address);
  if (!connection.ok()) return on_answer(connection.status());
  MessageHead head{.asker = number_,
                   .connection = *connection,
                   .id = ++ids_,
                   .code = address_.size(),
                   .address_hash = address_hash_};
  std::memcpy(head.secret.data(), asking.card.data(), head.secret.size());
  const Clock::time_point now = Clock::now();
  Asked asked;
  asked.connection = *connection;
  asked.most_bytes = asking.most_bytes;
  asked.on_answer = std::move(on_answer);
  asked.begun = now;
  asked.limit = limits_.emplace(now + std::min(asking.limit, kLongestLimit), head.id);
  asked.silence = silences_.emplace(now + std::min(asking.silence, kLongestLimit), head.id);
  asked_.emplace(head.id, std::move(asked));
  connections_->hold(*connection);
  // The address is in each, so that the other end may lose its connection back. Never announced and fetched (EAGER): the other end takes no part in
  // getting a question that it has not seen.
  Buffer bytes = Buffer::allocate(address_.size() + asking.question.size());
  std::memcpy(bytes.data(), address_.data(), address_.size());
  if (!asking.question.empty())
    std::memcpy(bytes.data() + address_.size(), asking.question.data(), asking.question.size());
  connections_->send(*connection, kQuestionMessage, head, {std::move(bytes)}, UCP_AM_SEND_FLAG_EAGER);
}

void UcxLoop::answer(uint64_t id, Result<Answer> result) {
  const auto at = asked_.find(id);
  if (at == asked_.end()) return;
  limits_.erase(at->second.limit);
  if (at->second.silence != silences_.end()) silences_.erase(at->second.silence);
  connections_->release(at->second.connection);
  const OnAnswer on_answer = std::move(at->second.on_answer);
  asked_.erase(at);
  on_answer(std::move(result));
}

void UcxLoop::on_gone(uint64_t connection, const Status& why) {
  std::vector<uint64_t> over;
  for (const auto& [id, asked] : asked_)
    if (asked.connection == connection) over.push_back(id);
  for (const uint64_t id : over) answer(id, why);
}

ucs_status_t UcxLoop::on_question(void* end, const void* head, size_t head_bytes, void* data, size_t bytes,
                                  const ucp_am_recv_param_t* param) {
  UcxLoop& self = *static_cast<UcxLoop*>(end);
  const auto parsed = MessageHead::parse(head, head_bytes);
  const bool whole = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  const bool known = parsed && whole && same_secret(parsed->shown(), self.options_.secret);
  if (!known || parsed->code > std::min(bytes, kMostAddressBytes) ||
      bytes - parsed->code > self.options_.most_question_bytes) {
    self.refuse(RefusedQuestion::kStranger);
    return UCS_OK;
  }
  Buffer copy = Buffer::allocate(bytes);
  if (bytes > 0) std::memcpy(copy.data(), data, bytes);
  self.arrived_.push_back({*parsed, std::move(copy)});  // no connection is made from within UCX
  return UCS_OK;
}

void UcxLoop::take_arrived() {
  for (const Arrived& arrived : std::exchange(arrived_, {})) {
    if (!closing_) take_question(arrived);
  }
}

void UcxLoop::refuse(RefusedQuestion why) {
  if (options_.on_refused && !closing_) options_.on_refused(why);
}

void UcxLoop::take_question(const Arrived& arrived) {
  const uint64_t address_bytes = arrived.head.code;
  const std::string address(reinterpret_cast<const char*>(arrived.bytes.data()), address_bytes);
  if (address.empty() || checksum_of(address) != arrived.head.address_hash) return refuse(RefusedQuestion::kStranger);
  const Result<uint64_t> connection =
      connections_->connect_back({arrived.head.asker, arrived.head.connection}, address, options_.most_connections);
  if (!connection.ok()) return refuse(RefusedQuestion::kTooManyAskers);  // whoever asks has a limit for that
  if (!options_.on_question) return;
  connections_->hear(*connection);
  options_.on_question(std::make_unique<Received>(
      *this, *connection, arrived.head, arrived.bytes.slice(address_bytes, arrived.bytes.size() - address_bytes)));
}

ucs_status_t UcxLoop::on_answer(void* end, const void* head, size_t head_bytes, void* data, size_t bytes,
                                const ucp_am_recv_param_t* param) {
  UcxLoop& self = *static_cast<UcxLoop*>(end);
  const auto parsed = MessageHead::parse(head, head_bytes);
  if (!parsed || parsed->asker != self.number_) return UCS_OK;
  self.connections_->hear(parsed->connection);
  const auto asked = self.asked_.find(parsed->id);
  // Nobody waits for it any more; or it is the answer of somebody who was not asked, or answers twice.
  if (asked == self.asked_.end() || asked->second.connection != parsed->connection || asked->second.comes)
    return UCS_OK;
  return self.take_answer(*parsed, data, bytes, (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0);
}

ucs_status_t UcxLoop::take_answer(const MessageHead& head, void* data, size_t bytes, bool announced) {
  const auto at = asked_.find(head.id);
  if (bytes > at->second.most_bytes) {
    answer(head.id, corrupt(fmt::format("an answer of {} bytes, where at most {} were asked for", bytes,
                                        at->second.most_bytes)));
    return UCS_OK;
  }
  at->second.comes = true;
  if (announced) return receive(head, data, bytes);
  Buffer whole = Buffer::allocate(bytes);
  if (bytes > 0) std::memcpy(whole.data(), data, bytes);
  answer(head.id, Answer{head.code, std::move(whole)});
  return UCS_OK;
}

ucs_status_t UcxLoop::receive(const MessageHead& head, void* data, size_t bytes) {
  const auto place = receivings_.insert(receivings_.end(), Receiving{.end = this, .head = head});
  place->place = place;
  place->bytes = Buffer::allocate(bytes);
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = on_received;
  params.user_data = &*place;
  const ucs_status_ptr_t request = ucp_am_recv_data_nbx(worker_.get(), data, place->bytes.data(), bytes, &params);
  if (request == nullptr) on_received(nullptr, UCS_OK, bytes, &*place);
  if (!UCS_PTR_IS_ERR(request)) return UCS_INPROGRESS;
  on_received(nullptr, UCS_PTR_STATUS(request), 0, &*place);
  return UCS_OK;
}

void UcxLoop::on_received(void* request, ucs_status_t status, size_t, void* receiving) {
  auto& received = *static_cast<Receiving*>(receiving);
  UcxLoop& self = *received.end;
  const MessageHead head = received.head;
  Buffer bytes = std::move(received.bytes);
  self.receivings_.erase(received.place);
  if (request != nullptr) ucp_request_free(request);
  if (status == UCS_OK)
    self.answer(head.id, Answer{head.code, std::move(bytes)});
  else
    self.answer(head.id, ucx_trouble("an answer did not come whole", status));
}

}  // namespace forebay
