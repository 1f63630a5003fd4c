#include "ucx/connections.h"

#include <algorithm>

namespace forebay {

namespace {

constexpr uint64_t kPatientBytes = 1 << 20;
constexpr std::chrono::milliseconds kBetweenLooks(1000);
constexpr int kTimesIdleBack = 3;

}  // namespace

/// A message on its way. What it is made of stays until it has left.
struct Connections::Sending {
  Connections* all = nullptr;
  std::list<std::unique_ptr<Sending>>::iterator place;
  uint64_t connection = 0, bytes = 0;
  Clock::time_point begun;
  MessageHead head;
  std::vector<Buffer> pieces;
  std::vector<ucp_dt_iov_t> parts;
};

Result<uint64_t> Connections::connect(const std::string& address) {
  if (const auto known = by_address_.find(address); known != by_address_.end()) return known->second;
  FOREBAY_ASSIGN(Connection* const made, make(address));
  made->address = address;
  by_address_[address] = made->number;
  return made->number;
}

Result<uint64_t> Connections::connect_back(Asker asker, const std::string& address, size_t most) {
  if (const auto known = by_asker_.find(asker); known != by_asker_.end()) return known->second;
  if (by_asker_.size() >= most) return unavailable("there are too many connections");
  FOREBAY_ASSIGN(Connection* const made, make(address));
  made->asker = asker;
  by_asker_[asker] = made->number;
  return made->number;
}

Result<Connections::Connection*> Connections::make(const std::string& address) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {.cb = on_error, .arg = this};
  auto made = std::make_unique<Connection>();
  if (const ucs_status_t status = ucp_ep_create(worker_.get(), &params, &made->handle); status != UCS_OK)
    return ucx_trouble("no connection", status);
  made->number = ++numbers_;
  made->used = Clock::now();
  by_handle_[made->handle] = made->number;
  Connection* const connection = made.get();
  connections_[made->number] = std::move(made);
  return connection;
}

void Connections::on_error(void* all, ucp_ep_h handle, ucs_status_t status) {
  auto& connections = *static_cast<Connections*>(all);
  const auto known = connections.by_handle_.find(handle);
  if (known != connections.by_handle_.end())
    connections.fail(known->second, ucx_trouble("the connection is lost", status));
}

void Connections::fail(uint64_t connection, Status why) {
  const auto at = connections_.find(connection);
  if (at == connections_.end() || at->second->failing) return;
  at->second->failing = true;
  failing_.emplace_back(connection, std::move(why));
}

void Connections::hold(uint64_t connection) {
  const auto at = connections_.find(connection);
  if (at != connections_.end()) ++at->second->held;
}

void Connections::release(uint64_t connection) {
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  --at->second->held;
  at->second->used = Clock::now();
}

void Connections::hear(uint64_t connection) {
  const auto at = connections_.find(connection);
  if (at != connections_.end()) at->second->heard = at->second->used = Clock::now();
}

bool Connections::is_heard_since(uint64_t connection, Clock::time_point when) const {
  const auto at = connections_.find(connection);
  return at != connections_.end() && at->second->heard >= when;
}

void Connections::send(uint64_t connection, unsigned message, const MessageHead& head, std::vector<Buffer> pieces,
                       unsigned flags) {
  const auto at = connections_.find(connection);
  if (at == connections_.end() || at->second->failing) return;
  at->second->used = Clock::now();
  hold(connection);
  const auto sending = sendings_.insert(sendings_.end(), std::make_unique<Sending>());
  Sending& sent = **sending;
  sent.all = this;
  sent.place = sending;
  sent.connection = connection;
  sent.begun = at->second->used;
  sent.head = head;
  sent.pieces = std::move(pieces);
  for (Buffer& piece : sent.pieces) {
    sent.parts.push_back({piece.data(), piece.size()});
    sent.bytes += piece.size();
  }
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_FLAGS;
  params.cb.send = on_sent;
  params.user_data = &sent;
  params.flags = flags;
  // Lists of one part or none are not for UCX, which ends the process over the latter.
  const bool is_list = sent.parts.size() > 1, is_one = sent.parts.size() == 1;
  params.datatype = is_list ? ucp_dt_make_iov() : ucp_dt_make_contig(1);
  const void* const bytes = is_list ? sent.parts.data() : is_one ? sent.parts.front().buffer : nullptr;
  const size_t count = is_list ? sent.parts.size() : is_one ? sent.parts.front().length : 0;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(at->second->handle, message, &sent.head, sizeof sent.head, bytes, count, &params);
  if (request == nullptr || UCS_PTR_IS_ERR(request)) forget(sent);
  if (UCS_PTR_IS_ERR(request)) fail(connection, ucx_trouble("a message cannot leave", UCS_PTR_STATUS(request)));
}

void Connections::forget(Sending& sent) {
  release(sent.connection);
  sendings_.erase(sent.place);
}

void Connections::on_sent(void* request, ucs_status_t status, void* sending) {
  auto& sent = *static_cast<Sending*>(sending);
  Connections& all = *sent.all;
  if (status != UCS_OK) all.fail(sent.connection, ucx_trouble("a message did not leave", status));
  all.forget(sent);
  ucp_request_free(request);
}

void Connections::look_for_slow_takers(Clock::time_point now) {
  for (const auto& sending : sendings_) {
    const auto times = static_cast<int64_t>(1 + sending->bytes / kPatientBytes);
    if (now - sending->begun > times * patience_)
      fail(sending->connection, unavailable("it does not take what it is sent"));
  }
}

void Connections::look_for_idle(Clock::time_point now) {
  for (const auto& [number, connection] : connections_) {
    const bool back = connection->address.empty();
    if (connection->held == 0 && now - connection->used > (back ? kTimesIdleBack * idle_ : idle_))
      fail(number, unavailable("nothing has been asked for long"));
  }
}

std::chrono::milliseconds Connections::until_next_look() const {
  return sendings_.empty() ? idle_ : std::min(kBetweenLooks, idle_);
}

bool Connections::settle(Clock::time_point now) {
  if (now >= next_look_) {
    next_look_ = now + std::min(kBetweenLooks, idle_);
    look_for_slow_takers(now);
    look_for_idle(now);
  }
  // Whoever hears of one may ask over another, which may fail.
  const auto failed = std::exchange(failing_, {});
  for (const auto& [number, why] : failed) {
    const auto at = connections_.find(number);
    const std::unique_ptr<Connection> connection = std::move(at->second);
    connections_.erase(at);
    close(*connection);
    on_gone_(number, why);
  }
  return !failed.empty() || !failing_.empty();
}

// At once, whatever is under way: that ends with an error. Nothing is told of the closing itself, in any version of UCX.
void Connections::close(const Connection& connection) {
  by_handle_.erase(connection.handle);
  if (connection.address.empty())
    by_asker_.erase(connection.asker);
  else
    by_address_.erase(connection.address);
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request = ucp_ep_close_nbx(connection.handle, &params);
  if (request != nullptr && !UCS_PTR_IS_ERR(request)) ucp_request_free(request);
}

void Connections::close_all() {
  const auto all = std::exchange(connections_, {});
  for (const auto& [number, connection] : all) close(*connection);
}

}  // namespace forebay
