"""Every fixed sentence, in every language the bot speaks.

What the model reads is English; what people read is in `LANGUAGE`. A row that has no translation falls back
to English. Placeholders are `str.format` fields and are the same in all languages.
"""

from collections.abc import Mapping

LANGUAGES = ("en", "id", "pt")

TEXTS: Mapping[str, Mapping[str, str]] = {
    # What the model is told: results of calls that did not run, and notices.
    "result_denied": {"en": "Not run: {name} said no."},
    "result_denied_why": {"en": "Not run: {name} said no, because: {reason}"},
    "result_expired": {"en": "Not run: nobody answered the question in time. Nothing happened."},
    "result_moved_on": {"en": "Not run: the person moved on. Nothing happened."},
    "result_nobody": {"en": "Not run: it needs a person's yes, and nobody can be asked here."},
    "result_duplicate": {"en": "Not run: the same call stands earlier in this reply; see its result."},
    "result_changed": {
        "en": "Not run: what would run now is not what was approved (the working folder has changed). "
        "Call it again to ask again."
    },
    "result_interrupted": {
        "en": "Interrupted, outcome unknown: the bot was restarted while this ran. It may have taken effect "
        "wholly, partly or not at all. Look before doing it again."
    },
    "result_stopped": {"en": "Stopped while it ran; it may have taken partial effect."},
    "result_not_begun": {"en": "Not run: the turn was stopped first. Nothing happened."},
    "notice_cap": {
        "en": "You have used all {steps} steps of this turn and can't call tools any more. Tell the person "
        "honestly, in their language, what was done, what failed and what is still open. Claim nothing that "
        "no result shows."
    },
    "notice_failing": {
        "en": "{tool} has failed {times} times with the same arguments. Do not repeat it: find out why, try "
        "something else, or tell the person."
    },
    "notice_repeating": {
        "en": "You have asked for exactly the same calls three times in a row. Use the results you have, do "
        "something else, or answer."
    },
    "notice_empty": {"en": "Your last reply was empty. Answer the person from the results above."},
    "notice_promise": {
        "en": "You said that you would do something but called no tool, so nothing is happening. Call the "
        "tool now, or tell the person plainly that it is not being done."
    },
    "stopped_by_person": {"en": "(The person stopped this turn before it was finished.)"},
    "failed_inside": {"en": "(This turn ended early because of an internal error.)"},
    "turn_ended": {"en": "(No answer was given. The person was told: {reason})"},
    # Ends of turns, as people read them.
    "no_answer": {
        "en": "The model gave no answer.",
        "id": "Model tidak memberi jawaban.",
        "pt": "O modelo não deu resposta.",
    },
    "nothing_ran": {"en": "• nothing", "id": "• tidak ada", "pt": "• nada"},
    "capped": {
        "en": "I stopped at the step limit (MAX_STEPS) without an answer. What ran:\n{done}",
        "id": "Saya berhenti di batas langkah (MAX_STEPS) tanpa jawaban. Yang sudah dijalankan:\n{done}",
        "pt": "Parei no limite de passos (MAX_STEPS) sem resposta. O que foi executado:\n{done}",
    },
    "keeps_failing": {
        "en": "I stopped: {tool} failed {times} times in the same way.",
        "id": "Saya berhenti: {tool} gagal {times} kali dengan cara yang sama.",
        "pt": "Parei: {tool} falhou {times} vezes do mesmo modo.",
    },
    "keeps_misspelling": {
        "en": "I stopped: the model could not write a valid tool call in three corrections. The broken calls "
        "did nothing. What ran:\n{done}",
        "id": "Saya berhenti: model tidak bisa menulis panggilan alat yang benar setelah tiga koreksi. "
        "Panggilan yang rusak tidak melakukan apa pun. Yang sudah dijalankan:\n{done}",
        "pt": "Parei: o modelo não conseguiu escrever uma chamada válida em três correções. As chamadas "
        "quebradas não fizeram nada. O que foi executado:\n{done}",
    },
    "turn_timeout": {
        "en": "I stopped: this took longer than {seconds} seconds (TURN_TIMEOUT).",
        "id": "Saya berhenti: ini lebih lama dari {seconds} detik (TURN_TIMEOUT).",
        "pt": "Parei: isto passou de {seconds} segundos (TURN_TIMEOUT).",
    },
    "turn_tokens": {
        "en": "I stopped: this turn used {tokens} tokens (TURN_TOKENS).",
        "id": "Saya berhenti: giliran ini memakai {tokens} token (TURN_TOKENS).",
        "pt": "Parei: este turno usou {tokens} tokens (TURN_TOKENS).",
    },
    "daily_tokens": {
        "en": "The limit of {tokens} tokens in 24 hours is used up (DAILY_TOKENS).",
        "id": "Batas {tokens} token dalam 24 jam sudah habis (DAILY_TOKENS).",
        "pt": "O limite de {tokens} tokens em 24 horas acabou (DAILY_TOKENS).",
    },
    "llm_unavailable": {
        "en": "The model can't be reached at the moment. Nothing is lost: send your message again in a while.",
        "id": "Model tidak bisa dihubungi saat ini. Tidak ada yang hilang: kirim lagi pesan Anda nanti.",
        "pt": "O modelo não está acessível agora. Nada se perdeu: envie a mensagem de novo daqui a pouco.",
    },
    "llm_auth": {
        "en": "The model's provider refused the key. An admin must check <PROVIDER>_API_KEY (kai-bot check).",
        "id": "Penyedia model menolak kunci. Admin perlu memeriksa <PROVIDER>_API_KEY (kai-bot check).",
        "pt": "O provedor do modelo recusou a chave. Um admin deve ver <PROVIDER>_API_KEY (kai-bot check).",
    },
    "llm_quota": {
        "en": "The model's provider says that the credit or quota is used up.",
        "id": "Penyedia model mengatakan kuota atau saldo sudah habis.",
        "pt": "O provedor do modelo diz que o crédito ou a cota acabou.",
    },
    "llm_model": {
        "en": "The provider does not know this model. An admin must check LLM_MODEL (kai-bot check).",
        "id": "Penyedia tidak mengenal model ini. Admin perlu memeriksa LLM_MODEL (kai-bot check).",
        "pt": "O provedor não conhece este modelo. Um admin deve ver LLM_MODEL (kai-bot check).",
    },
    "llm_too_long": {
        "en": "This conversation is too long for the model. /new begins afresh.",
        "id": "Percakapan ini terlalu panjang untuk model. /new memulai dari awal.",
        "pt": "Esta conversa é longa demais para o modelo. /new começa de novo.",
    },
    "llm_refused": {
        "en": "The model refused to answer this.",
        "id": "Model menolak menjawab ini.",
        "pt": "O modelo se recusou a responder.",
    },
    "llm_bad_request": {
        "en": "The model's provider did not accept the request; the log says why.",
        "id": "Penyedia model tidak menerima permintaan; log menjelaskan alasannya.",
        "pt": "O provedor do modelo não aceitou o pedido; o log diz por quê.",
    },
    "failed_here": {
        "en": "Something went wrong inside the bot; the log says what. Your message was kept: send it again to retry.",
        "id": "Ada yang salah di dalam bot; lihat log. Pesan Anda tersimpan: kirim lagi untuk mencoba ulang.",
        "pt": "Algo deu errado dentro do bot; o log diz o quê. Sua mensagem foi guardada: envie de novo.",
    },
    "interrupted": {
        "en": "⚠️ The bot was restarted while this ran, so its outcome is unknown. It will not be repeated:\n{subject}",
        "id": "⚠️ Bot dimulai ulang saat ini berjalan, jadi hasilnya tidak diketahui. Tidak akan diulang:\n{subject}",
        "pt": "⚠️ O bot reiniciou enquanto isto rodava; o resultado é desconhecido. Não será repetido:\n{subject}",
    },
    "asked_admins": {
        "en": "This needs an admin's approval. The question went to the admins; I go on when they have answered.",
        "id": "Ini perlu persetujuan admin. Pertanyaan sudah dikirim ke admin; saya lanjut setelah dijawab.",
        "pt": "Isto precisa da aprovação de um admin. A pergunta foi enviada; continuo quando responderem.",
    },
    # On cards.
    "card_undeliverable": {
        "en": "the question could not be shown to anybody",
        "id": "pertanyaan tidak bisa ditampilkan kepada siapa pun",
        "pt": "a pergunta não pôde ser mostrada a ninguém",
    },
    "cancelled_moved_on": {
        "en": "not run: you moved on",
        "id": "tidak dijalankan: Anda beralih",
        "pt": "não executado: você mudou de assunto",
    },
    "cancelled_stopped": {
        "en": "not run: stopped",
        "id": "tidak dijalankan: dihentikan",
        "pt": "não executado: parado",
    },
    "outcome_stopped": {
        "en": "stopped while it ran",
        "id": "dihentikan saat berjalan",
        "pt": "parado durante a execução",
    },
    "outcome_not_begun": {
        "en": "stopped before it ran",
        "id": "dihentikan sebelum berjalan",
        "pt": "parado antes de rodar",
    },
    "outcome_changed": {
        "en": "not run: the working folder has changed since",
        "id": "tidak dijalankan: folder kerja sudah berubah",
        "pt": "não executado: a pasta de trabalho mudou",
    },
    "outcome_interrupted": {
        "en": "interrupted, outcome unknown",
        "id": "terputus, hasil tidak diketahui",
        "pt": "interrompido, resultado desconhecido",
    },
    "card_title": {"en": "May I run this?", "id": "Boleh saya jalankan ini?", "pt": "Posso executar isto?"},
    "card_call": {
        "en": "May I do this? ({tool})",
        "id": "Boleh saya lakukan ini? ({tool})",
        "pt": "Posso fazer isto? ({tool})",
    },
    "card_why": {"en": "Why I ask", "id": "Alasan bertanya", "pt": "Por que pergunto"},
    "card_model_says": {"en": "The model says", "id": "Kata model", "pt": "O modelo diz"},
    "card_folder": {"en": "In {cwd}", "id": "Di {cwd}", "pt": "Em {cwd}"},
    "card_asked_by": {"en": "asked by {name}", "id": "diminta {name}", "pt": "pedido por {name}"},
    "card_until": {"en": "until {time}", "id": "sampai {time}", "pt": "até {time}"},
    "card_in_file": {
        "en": "(cut here; the whole text is in the file above)",
        "id": "(dipotong; teks lengkap ada di berkas di atas)",
        "pt": "(cortado; o texto completo está no arquivo acima)",
    },
    "card_file_caption": {
        "en": "What you are asked to approve, in full",
        "id": "Yang perlu Anda setujui, lengkap",
        "pt": "O que você deve aprovar, completo",
    },
    "card_approved": {
        "en": "Approved by {name}, {time}",
        "id": "Disetujui {name}, {time}",
        "pt": "Aprovado por {name}, {time}",
    },
    "card_denied": {
        "en": "Denied by {name}, {time}",
        "id": "Ditolak {name}, {time}",
        "pt": "Negado por {name}, {time}",
    },
    "card_expired": {
        "en": "Expired, {time}: not run",
        "id": "Kedaluwarsa, {time}: tidak dijalankan",
        "pt": "Expirou, {time}: não executado",
    },
    "card_cancelled": {"en": "Closed, {time}", "id": "Ditutup, {time}", "pt": "Fechado, {time}"},
    "button_approve": {"en": "Approve", "id": "Setujui", "pt": "Aprovar"},
    "button_deny": {"en": "Deny", "id": "Tolak", "pt": "Negar"},
    "button_deny_why": {"en": "Deny and say why", "id": "Tolak dengan alasan", "pt": "Negar e dizer por quê"},
    "button_again": {"en": "Ask again", "id": "Tanya lagi", "pt": "Perguntar de novo"},
    "toast_approved": {"en": "Approved", "id": "Disetujui", "pt": "Aprovado"},
    "toast_denied": {"en": "Denied", "id": "Ditolak", "pt": "Negado"},
    "toast_reply_why": {
        "en": "Reply to this card with your reason: your reply denies it.",
        "id": "Balas kartu ini dengan alasan Anda: balasan itu menolaknya.",
        "pt": "Responda a este cartão com o motivo: sua resposta o nega.",
    },
    "toast_not_admin": {
        "en": "Only an admin can decide this.",
        "id": "Hanya admin yang bisa memutuskan ini.",
        "pt": "Só um admin pode decidir isto.",
    },
    "toast_decided": {
        "en": "Already decided: {status}.",
        "id": "Sudah diputuskan: {status}.",
        "pt": "Já decidido: {status}.",
    },
    "toast_unknown": {
        "en": "This button is no longer known.",
        "id": "Tombol ini tidak dikenal lagi.",
        "pt": "Este botão não é mais conhecido.",
    },
    "toast_sending": {"en": "Sending the file", "id": "Mengirim berkas", "pt": "Enviando o arquivo"},
    "toast_not_kept": {
        "en": "That output is no longer kept.",
        "id": "Keluaran itu tidak disimpan lagi.",
        "pt": "Essa saída não está mais guardada.",
    },
    "file_redacted": {
        "en": "(secrets were taken out)",
        "id": "(rahasia sudah dihapus)",
        "pt": "(segredos foram removidos)",
    },
    "toast_asking": {"en": "Asking again", "id": "Bertanya lagi", "pt": "Perguntando de novo"},
    "status_approved": {"en": "approved", "id": "disetujui", "pt": "aprovado"},
    "status_denied": {"en": "denied", "id": "ditolak", "pt": "negado"},
    "status_expired": {
        "en": "expired, it was not run",
        "id": "kedaluwarsa, tidak dijalankan",
        "pt": "expirou, não foi executado",
    },
    "status_cancelled": {
        "en": "closed, it was not run",
        "id": "ditutup, tidak dijalankan",
        "pt": "fechado, não foi executado",
    },
    "ask_again": {
        "en": "The approval for this expired before anyone answered. Ask for it again, unchanged:\n{command}",
        "id": "Persetujuan untuk ini kedaluwarsa sebelum dijawab. Ajukan lagi tanpa perubahan:\n{command}",
        "pt": "A aprovação disto expirou sem resposta. Peça de novo, sem mudar nada:\n{command}",
    },
    # In the chat.
    "only_button": {
        "en": "Words don't approve: please press Approve or Deny on the card.",
        "id": "Kata-kata tidak menyetujui: tekan Setujui atau Tolak pada kartu.",
        "pt": "Palavras não aprovam: toque em Aprovar ou Negar no cartão.",
    },
    "waits_for_card": {
        "en": "I am waiting for the answer to a question of {name}'s; your message comes right after it.",
        "id": "Saya menunggu jawaban atas pertanyaan {name}; pesan Anda langsung sesudahnya.",
        "pt": "Espero a resposta a uma pergunta de {name}; sua mensagem vem logo depois.",
    },
    "stopped": {"en": "Stopped.", "id": "Dihentikan.", "pt": "Parado."},
    "nothing_to_stop": {
        "en": "Nothing is running.",
        "id": "Tidak ada yang berjalan.",
        "pt": "Nada está rodando.",
    },
    "dropped": {
        "en": "Messages that waited and will not be answered:\n{messages}",
        "id": "Pesan yang menunggu dan tidak akan dijawab:\n{messages}",
        "pt": "Mensagens que esperavam e não serão respondidas:\n{messages}",
    },
    "new_begun": {
        "en": "A new conversation begins; the old one is kept but no longer read.",
        "id": "Percakapan baru dimulai; yang lama disimpan tetapi tidak dibaca lagi.",
        "pt": "Começa uma conversa nova; a antiga fica guardada, mas não é mais lida.",
    },
    "not_on_list": {
        "en": "I don't know you. Your id is {id}; the owner can add it to ALLOWED_IDS or ADMIN_IDS.",
        "id": "Saya tidak mengenal Anda. ID Anda {id}; pemilik bisa menambahkannya ke ALLOWED_IDS atau ADMIN_IDS.",
        "pt": "Não conheço você. Seu id é {id}; o dono pode incluí-lo em ALLOWED_IDS ou ADMIN_IDS.",
    },
    "admins_only": {
        "en": "This command is for admins.",
        "id": "Perintah ini khusus admin.",
        "pt": "Este comando é só para admins.",
    },
    "unknown_command": {
        "en": "I don't know that command; /help lists them.",
        "id": "Saya tidak mengenal perintah itu; lihat /help.",
        "pt": "Não conheço esse comando; veja /help.",
    },
    "only_text": {
        "en": "I can only read text so far.",
        "id": "Saya baru bisa membaca teks.",
        "pt": "Por enquanto só leio texto.",
    },
    "no_pending": {
        "en": "No question is open.",
        "id": "Tidak ada pertanyaan terbuka.",
        "pt": "Nenhuma pergunta aberta.",
    },
    "pending_again": {
        "en": "Open questions: {count}. Here they are again.",
        "id": "Pertanyaan terbuka: {count}. Ini dia lagi.",
        "pt": "Perguntas abertas: {count}. Aqui estão de novo.",
    },
    "maybe_repeat": {
        "en": "↻ (may be a repeat: the connection broke while this was being sent)",
        "id": "↻ (mungkin terulang: koneksi putus saat mengirim)",
        "pt": "↻ (pode ser repetição: a conexão caiu durante o envio)",
    },
    "long_answer": {
        "en": "The answer is long; the whole of it is in the file.",
        "id": "Jawabannya panjang; lengkapnya ada di berkas.",
        "pt": "A resposta é longa; o texto completo está no arquivo.",
    },
    "help_start": {"en": "say hello", "id": "menyapa", "pt": "dizer olá"},
    "help_help": {"en": "what I can do", "id": "yang bisa saya lakukan", "pt": "o que sei fazer"},
    "help_new": {
        "en": "begin a new conversation",
        "id": "mulai percakapan baru",
        "pt": "começar uma conversa nova",
    },
    "help_stop": {
        "en": "stop what is running and drop what waits",
        "id": "hentikan yang berjalan dan yang menunggu",
        "pt": "parar o que roda e descartar o que espera",
    },
    "help_status": {
        "en": "state of the server and of me",
        "id": "keadaan server dan saya",
        "pt": "estado do servidor e meu",
    },
    "help_pending": {
        "en": "open questions, once more",
        "id": "pertanyaan terbuka, sekali lagi",
        "pt": "perguntas abertas, outra vez",
    },
    "greeting": {
        "en": "Hello! I am Kai. Write what you need done on this server; before anything risky I ask with a button.\n\n{commands}",
        "id": "Halo! Saya Kai. Tulis apa yang perlu dikerjakan di server ini; sebelum yang berisiko saya bertanya lewat tombol.\n\n{commands}",
        "pt": "Olá! Sou o Kai. Escreva o que fazer neste servidor; antes de algo arriscado eu pergunto com um botão.\n\n{commands}",
    },
    "edited": {
        "en": "(I edited an earlier message; this replaces it, do not do both.)\n{text}",
        "id": "(Saya mengubah pesan sebelumnya; ini penggantinya, jangan kerjakan keduanya.)\n{text}",
        "pt": "(Editei uma mensagem anterior; esta a substitui, não faça as duas.)\n{text}",
    },
    "in_reply_to": {
        "en": "(In reply to {name}: “{quote}”)\n{text}",
        "id": "(Membalas {name}: “{quote}”)\n{text}",
        "pt": "(Em resposta a {name}: “{quote}”)\n{text}",
    },
}


def say(language: str, key: str, **values: object) -> str:
    """Return a sentence.

    Raises:
        KeyError: There is no such sentence, or a placeholder has no value.
    """
    row = TEXTS[key]
    return row.get(language, row["en"]).format(**values)
