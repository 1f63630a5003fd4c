#include "ucx/ucx_end.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

// Takes as long wherever they differ.
bool same_secret(const EndSecret& a, std::string_view b) {
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned>(a[i] ^ static_cast<uint8_t>(i < b.size() ? b[i] : 0));
  return differs == 0;
}

}  // namespace

/// A question of another end, and the way back: by the connection's number, since that may be gone when the answer is there.
class UcxEnd::Received final : public Question {
 public:
  Received(UcxEnd& end, uint64_t connection, const MessageHead& head, Buffer bytes)
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
  UcxEnd& end_;
  const uint64_t connection_;
  const MessageHead head_;
  const Buffer bytes_;
};

/// An answer that comes in parts. Its memory stays until UCX lets go of it, also where nobody waits for it any more.
struct UcxEnd::Receiving {
  UcxEnd* end;
  MessageHead head;
  Buffer bytes;
};

UcxEnd::UcxEnd(ActiveMessageOptions options) : options_(std::move(options)) {}

Result<std::unique_ptr<UcxEnd>> UcxEnd::open(ActiveMessageOptions options) {
  std::unique_ptr<UcxEnd> end(new UcxEnd(std::move(options)));
  FOREBAY_RETURN_IF_ERROR(end->begin());
  return end;
}

Status UcxEnd::begin() {
  std::array<uint64_t, 2> random{};
  // Up to 256 bytes come whole or not at all (getrandom(2)).
  if (::getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return unavailable("the system gives no random bytes");
  number_ = random[0];
  ids_ = random[1];
  FOREBAY_RETURN_IF_ERROR(worker_.open(options_.devices));
  FOREBAY_ASSIGN(address_, worker_.address());
  card_ = options_.secret + address_;
  connections_ = std::make_unique<Connections>(
      worker_, options_.patience, options_.idle, [this](uint64_t connection, const Status& why) { on_gone(connection, why); });
  FOREBAY_RETURN_IF_ERROR(handle_messages());
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return unavailable(fmt::format("cannot start a thread for UCX: {}", error.what()));
  }
  return {};
}

UcxEnd::~UcxEnd() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  if (thread_.joinable()) {
    worker_.wake();
    thread_.join();
  }
  if (connections_) {
    run_posted();  // what was asked last is answered, too
    connections_->close_all();
  }
  while (!asked_.empty()) answer(asked_.begin()->first, cancelled("it is being closed"));
}

void UcxEnd::post(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    posted_.push_back(std::move(function));
  }
  if (asleep_.exchange(false)) worker_.wake();
}

Status UcxEnd::handle_messages() {
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

void UcxEnd::run() {
  UcxWorker::own_this_thread();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
    }
    run_posted();
    while (worker_.progress()) {
    }
    take_arrived();
    const Clock::time_point now = Clock::now();
    end_late(now);
    connections_->settle(now);
    asleep_ = true;
    {
      const std::lock_guard lock(mutex_);  // what is posted from now on wakes
      if (closing_ || !posted_.empty()) asleep_ = false;
    }
    if (asleep_) worker_.sleep(until_next_deadline());
    asleep_ = false;
  }
}

void UcxEnd::run_posted() {
  std::vector<std::function<void()>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& function : posted) function();
}

int UcxEnd::until_next_deadline() const {
  auto most = static_cast<int>(connections_->until_next_look().count());
  const Clock::time_point now = Clock::now();
  for (const auto* deadlines : {&limits_, &silences_}) {
    if (deadlines->empty()) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadlines->begin()->first - now).count();
    most = static_cast<int>(std::clamp<int64_t>(left, 0, most));
  }
  return most;
}

void UcxEnd::end_late(Clock::time_point now) {
  for (auto* deadlines : {&limits_, &silences_}) {
    while (!deadlines->empty() && deadlines->begin()->first <= now) {
      const uint64_t id = deadlines->begin()->second;
      Asked& late = asked_.at(id);
      if (deadlines == &silences_ && late.comes) {
        late.silence = silences_.end();
        deadlines->erase(deadlines->begin());
        continue;
      }
      // It may be slow, and it may be gone: that is found out over a new connection, since nothing would ever be said about this one. An
      // answer that has begun holds memory until its connection ends.
      if (late.comes || !connections_->is_heard_since(late.connection, late.begun))
        connections_->fail(late.connection, unavailable("no answer in time"));
      answer(id, unavailable("no answer in time"));
    }
  }
}

void UcxEnd::ask(Asking asking, OnAnswer on_answer) {
  post([this, asking = std::move(asking), on_answer = std::move(on_answer)]() mutable {
    begin_asking(std::move(asking), std::move(on_answer));
  });
}

void UcxEnd::begin_asking(Asking asking, OnAnswer on_answer) {
  if (asking.card.size() <= sizeof(EndSecret)) return on_answer(corrupt("what it says of its UCX is too short"));
  const Result<uint64_t> connection = connections_->connect(asking.card.substr(sizeof(EndSecret)));
  if (!connection.ok()) return on_answer(connection.status());
  MessageHead head{.asker = number_, .connection = *connection, .id = ++ids_, .code = address_.size()};
  std::memcpy(head.secret.data(), asking.card.data(), head.secret.size());
  const Clock::time_point now = Clock::now();
  Asked asked;
  asked.connection = *connection;
  asked.most_bytes = asking.most_bytes;
  asked.on_answer = std::move(on_answer);
  asked.begun = now;
  asked.limit = limits_.emplace(now + asking.limit, head.id);
  asked.silence = silences_.emplace(now + asking.silence, head.id);
  asked_.emplace(head.id, std::move(asked));
  // The address is in each, so that the other end may lose its connection back. Whole with the message that announces it: no memory is taken
  // for questions that have not been seen.
  Buffer bytes = Buffer::allocate(address_.size() + asking.question.size());
  std::memcpy(bytes.data(), address_.data(), address_.size());
  if (!asking.question.empty())
    std::memcpy(bytes.data() + address_.size(), asking.question.data(), asking.question.size());
  connections_->send(*connection, kQuestionMessage, head, {std::move(bytes)}, UCP_AM_SEND_FLAG_EAGER);
}

void UcxEnd::answer(uint64_t id, Result<Answer> result) {
  const auto at = asked_.find(id);
  if (at == asked_.end()) return;
  limits_.erase(at->second.limit);
  if (at->second.silence != silences_.end()) silences_.erase(at->second.silence);
  const OnAnswer on_answer = std::move(at->second.on_answer);
  asked_.erase(at);
  on_answer(std::move(result));
}

void UcxEnd::on_gone(uint64_t connection, const Status& why) {
  std::vector<uint64_t> over;
  for (const auto& [id, asked] : asked_)
    if (asked.connection == connection) over.push_back(id);
  for (const uint64_t id : over) answer(id, why);
}

ucs_status_t UcxEnd::on_question(void* end, const void* head, size_t head_bytes, void* data, size_t bytes,
                                 const ucp_am_recv_param_t* param) {
  UcxEnd& self = *static_cast<UcxEnd*>(end);
  const auto parsed = MessageHead::parse(head, head_bytes);
  const bool whole = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  const bool known = parsed && whole && same_secret(parsed->secret, self.options_.secret);
  constexpr uint64_t kMostAddressBytes = 64 << 10;
  if (!known || parsed->code > std::min(bytes, kMostAddressBytes) ||
      bytes - parsed->code > self.options_.most_question_bytes) {
    if (self.options_.on_stranger) self.options_.on_stranger();
    return UCS_OK;
  }
  Buffer copy = Buffer::allocate(bytes);
  if (bytes > 0) std::memcpy(copy.data(), data, bytes);
  self.arrived_.push_back({*parsed, std::move(copy)});  // no connection is made from within UCX
  return UCS_OK;
}

void UcxEnd::take_arrived() {
  for (const Arrived& arrived : std::exchange(arrived_, {})) take_question(arrived);
}

void UcxEnd::take_question(const Arrived& arrived) {
  const uint64_t address_bytes = arrived.head.code;
  const std::string address(reinterpret_cast<const char*>(arrived.bytes.data()), address_bytes);
  const Result<uint64_t> connection =
      connections_->connect_back({arrived.head.asker, arrived.head.connection}, address, options_.most_connections);
  if (!connection.ok() || !options_.on_question) return;  // whoever asks has a limit for that
  connections_->hear(*connection);
  options_.on_question(std::make_unique<Received>(
      *this, *connection, arrived.head, arrived.bytes.slice(address_bytes, arrived.bytes.size() - address_bytes)));
}

ucs_status_t UcxEnd::on_answer(void* end, const void* head, size_t head_bytes, void* data, size_t bytes,
                               const ucp_am_recv_param_t* param) {
  UcxEnd& self = *static_cast<UcxEnd*>(end);
  const auto parsed = MessageHead::parse(head, head_bytes);
  if (!parsed || parsed->asker != self.number_) return UCS_OK;
  self.connections_->hear(parsed->connection);
  const auto asked = self.asked_.find(parsed->id);
  // Nobody waits for it any more; or it is the answer of somebody who was not asked.
  if (asked == self.asked_.end() || asked->second.connection != parsed->connection) return UCS_OK;
  return self.take_answer(*parsed, data, bytes, (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0);
}

ucs_status_t UcxEnd::take_answer(const MessageHead& head, void* data, size_t bytes, bool announced) {
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

ucs_status_t UcxEnd::receive(const MessageHead& head, void* data, size_t bytes) {
  auto receiving = std::make_unique<Receiving>(Receiving{this, head, Buffer::allocate(bytes)});
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = on_received;
  params.user_data = receiving.get();
  Receiving* const received = receiving.release();  // back in on_received()
  const ucs_status_ptr_t request = ucp_am_recv_data_nbx(worker_.get(), data, received->bytes.data(), bytes, &params);
  if (request == nullptr) on_received(nullptr, UCS_OK, bytes, received);
  if (UCS_PTR_IS_ERR(request)) on_received(nullptr, UCS_PTR_STATUS(request), 0, received);
  return UCS_PTR_IS_ERR(request) ? UCS_OK : UCS_INPROGRESS;
}

void UcxEnd::on_received(void* request, ucs_status_t status, size_t, void* receiving) {
  const std::unique_ptr<Receiving> received(static_cast<Receiving*>(receiving));
  if (status == UCS_OK)
    received->end->answer(received->head.id, Answer{received->head.code, std::move(received->bytes)});
  else
    received->end->answer(received->head.id, ucx_trouble("an answer did not come whole", status));
  if (request != nullptr) ucp_request_free(request);
}

}  // namespace forebay
