"""The words of the simulated questions. Draws depend on the order of the lines.

In braces stand values that the simulation fills in.
"""

PEOPLE = (
    "Ines",
    "Bram",
    "Yusuf",
    "Klara",
    "Odile",
    "Petr",
    "Samira",
    "Tove",
    "Ugo",
    "Wanda",
)

# By project: a stem of its file names, and its parts. The last word of a part is its
# own within the project.
PROJECTS = {
    "harbour fees": (
        "berth",
        "tariff table|berth planner|tide calendar|crane ledger|mooring map|pilot roster"
        "|customs desk|fuel counter",
    ),
    "night trains": (
        "sleeper",
        "seat chart|cabin keys|route board|breakfast list|platform signs|border forms"
        "|luggage scale|delay feed",
    ),
    "seed library": (
        "seeds",
        "sowing diary|packet labels|germination tray|lending shelf|species index"
        "|cold drawer|donor letters|harvest log",
    ),
    "museum guide": (
        "museum",
        "audio tour|gallery plan|ticket gate|object cards|cloakroom tags|school visits"
        "|opening hours|photo wall",
    ),
    "clinic rota": (
        "clinic",
        "shift grid|vacation ledger|ward screen|pager bridge|handover notes|bed monitor"
        "|training record|locum pool",
    ),
    "bike depot": (
        "depot",
        "frame register|brake test|rental kiosk|dock sensor|helmet rack|tyre order"
        "|repair queue|winter store",
    ),
    "radio archive": (
        "radio",
        "tape scanner|programme guide|jingle folder|rights sheet|listener mail"
        "|studio clock|news cutter|voice search",
    ),
    "school kitchens": (
        "kitchen",
        "menu builder|allergy card|milk order|oven timer|tray counter|waste report"
        "|supplier portal|hygiene check",
    ),
    "weather buoys": (
        "buoy",
        "wave chart|battery gauge|anchor survey|salt probe|satellite link|storm bulletin"
        "|drift tracker|paint schedule",
    ),
    "theatre lights": (
        "stage",
        "cue sheet|lamp stock|dimmer bank|fog machine|rehearsal plan|follow spot"
        "|power meter|curtain motor",
    ),
    "map tiles": (
        "tiles",
        "style editor|contour layer|label engine|road import|zoom cache|legend printer"
        "|coast mask|hill shader",
    ),
    "flood alerts": (
        "flood",
        "river gauge|siren test|street list|sandbag store|phone tree|rain model"
        "|pump station|camp register",
    ),
}

# What a part can be spoken of, and what was settled on it.
ASPECTS = {
    "rounding": "goes to the nearest ten and never below it",
    "backups": "run at three and are read back on Mondays",
    "colours": "follow the printed leaflet of last year",
    "permissions": "come from the group list and not from single names",
    "translations": "are French first, and Dutch where somebody pays for it",
    "invoices": "leave on the second working day with a signed copy",
    "retries": "stop after the third and leave a mark",
    "logging": "keeps ninety lines and drops the rest",
    "sorting": "puts the oldest on top until they are settled",
    "exports": "are plain text with semicolons",
    "alarms": "ring twice and then call whoever stands on the door sheet",
    "printing": "uses both sides and leaves a margin for the punch",
    "holidays": "count as half days outside of August",
    "passwords": "change with the season and are never sent by post",
    "archiving": "begins after forty weeks without a touch",
    "testing": "needs a second pair of eyes before noon",
}

# With {part}, {aspect} and {settled}.
STATEMENTS = (
    "For the {part}, {aspect} {settled}.",
    "We settled it: {aspect} of the {part} {settled}.",
    "As far as the {part} is concerned, {aspect} {settled}.",
    "So that it is written down, {part}, {aspect}: {settled}.",
    "Nobody objected any more, so {aspect} for the {part} {settled}.",
)
MENTIONS = (
    "The {part} and its {aspect} came up again, without a result.",
    "Can we talk about {aspect} of the {part} next week?",
    "{aspect}, {part}, and whatever else there is: not today.",
    "I have no opinion on {aspect} in the {part}.",
    "The {part}, then {aspect}, then lunch.",
)
CELL_QUESTIONS = (
    "What did we settle for {aspect} of the {part}?",
    "How does {aspect} in the {part} work?",
    "What holds for the {part} when it comes to {aspect}?",
)

# What was said, and a question for it that shares none of its words.
PARAPHRASES = (
    (
        "The screen turns sluggish whenever many guests sign in at once.",
        "When does the display become slow?",
    ),
    (
        "My physician told me to stay home until Friday.",
        "Who has been ill, and what did a doctor advise?",
    ),
    ("We ran out of cash in March.", "At what point was there no money left?"),
    (
        "The courier dropped a box and two lenses cracked.",
        "How did the glass get broken during delivery?",
    ),
    (
        "Her flight lands at dawn, so somebody has to fetch her.",
        "Who needs a lift from the airport?",
    ),
    (
        "The landlord wants us out by summer.",
        "Do we have to move to other premises?",
    ),
    (
        "Half of the volunteers quit after the quarrel.",
        "Why did helpers leave?",
    ),
    (
        "A mouse chewed through the cable behind the cupboard.",
        "What animal damaged the wiring?",
    ),
    (
        "The mayor praised us in her speech.",
        "Did a politician say something nice about our work?",
    ),
    (
        "Old customers pay nothing for the first month.",
        "Is there a discount for people who are with us for long?",
    ),
    (
        "I would rather write it in Rust than in C.",
        "Which programming language is preferred?",
    ),
    (
        "The auditor found three receipts missing.",
        "What was wrong with our bookkeeping?",
    ),
    (
        "We shall hire a second electrician in autumn.",
        "Are there plans to employ more staff?",
    ),
    (
        "The roof leaks over the server cupboard.",
        "Where does rain come in?",
    ),
    (
        "Parking in front of the gate costs sixty euros.",
        "How high is the fine for leaving a car at the entrance?",
    ),
    (
        "The youngest trainee speaks Arabic fluently.",
        "Which apprentice could interpret for visitors from Egypt?",
    ),
    (
        "Nobody opened the newsletter last time.",
        "Do readers care about what we mail out?",
    ),
    (
        "The new chairs hurt my back.",
        "Is anybody unhappy with the furniture?",
    ),
    (
        "A competitor copied our leaflet word for word.",
        "Has a rival plagiarised us?",
    ),
    (
        "We cancelled the picnic because of thunder.",
        "Why did the outing not take place?",
    ),
    (
        "The contract ends unless we sign again before Easter.",
        "By when must the agreement be renewed?",
    ),
    (
        "Our lawyer says that photographs of children need consent.",
        "What is the legal rule on pictures of kids?",
    ),
    (
        "The coffee machine is fixed at last.",
        "Can one get a hot drink again?",
    ),
    (
        "I lost the spare key on the ferry.",
        "What went missing aboard a ship?",
    ),
    (
        "The software stopped working after midnight on leap day.",
        "Which date made the program crash?",
    ),
    (
        "The bank raised the interest on our loan.",
        "Did borrowing become more expensive?",
    ),
    (
        "The caterer forgot the vegetarians.",
        "Were there meals without meat?",
    ),
    (
        "Two thieves broke a window and took the laptops.",
        "What happened during the burglary?",
    ),
)

# A question put to the others, and an answer that shares no word with it. {name} is
# another person.
TURNS = (
    (
        "Who takes over the {part} while {name} is away?",
        "I would, from the tenth until the end of the month.",
    ),
    (
        "When does the {part} of {name} have to be ready?",
        "Thursday at the latest, otherwise they charge us.",
    ),
    (
        "What did {name} pay for the {part}?",
        "Four hundred and twelve, with the carriage.",
    ),
    (
        "Where does {name} keep the papers on the {part}?",
        "Second shelf, the grey binder behind the plant.",
    ),
    (
        "Why did {name} stop the work on the {part}?",
        "Too loud for the neighbours, and they were right.",
    ),
    (
        "Whom does {name} call when the {part} fails?",
        "The cousin with the van, day or night.",
    ),
    (
        "How long did {name} need for the {part}?",
        "Nine evenings, and one Sunday that hurt.",
    ),
    (
        "What would {name} throw out of the {part}?",
        "Everything that blinks.",
    ),
    (
        "Which offer for the {part} did {name} like best?",
        "The cheap one from Antwerp, oddly enough.",
    ),
    (
        "Does {name} want the {part} on a phone as well?",
        "Not before somebody begs for it on their knees.",
    ),
)

COMPLAINTS = (
    "loses the last line",
    "waits for a lock that nobody holds",
    "reads the date as an American would",
    "fills the disk within a day",
    "shows nothing at all on a small window",
    "counts everything twice",
    "was merged without a review",
    "breaks on an umlaut",
    "asks for the password in a loop",
    "goes through on the second try",
    "returns yesterday's answer",
    "is called from nowhere",
)
# With {mark} and {complaint}.
MARK_STATEMENTS = (
    "{mark} {complaint}.",
    "I found it: {mark} {complaint}.",
    "It is {mark} again, it {complaint}.",
)
MARK_MENTIONS = (
    "{mark} is open on my desk.",
    "Has anyone looked at {mark}?",
    "I closed {mark} and opened it again.",
    "{mark} can wait.",
    "{mark} first, then the rest.",
    "Who knows {mark} best?",
    "I am still at {mark}.",
    "{mark}, as I said yesterday.",
    "Please leave {mark} to me.",
    "Let us look at {mark} together.",
)
MARK_QUESTIONS = (
    "What is wrong with {mark}?",
    "What did we find out about {mark}?",
)

# Figures that change: a name, and the values that it takes.
FIGURES = {
    "time limit": "20 minutes|45 minutes|90 minutes|two hours",
    "page size": "25 rows|40 rows|60 rows|100 rows",
    "monthly price": "9 euros|12 euros|15 euros|19 euros",
    "contact person": "Mr Halloran|Ms Adeyemi|Dr Castell|Ms Nowak",
    "default folder": "north|attic|cellar|garden",
    "meeting day": "Monday|Tuesday|Thursday|Friday",
}
FIRST_FIGURES = (
    "The {figure} of the {part} is {value}.",
    "What is new: the {figure} of the {part} is now {value}.",
)
OLD_FIGURES = (
    "Just to repeat it, the {figure} of the {part} is {value}.",
    "Somebody asked what the {figure} of the {part} is now: {value}.",
    "As you know, {figure} of the {part}: {value}.",
    "The {figure} of the {part} is {value}, and I like it.",
    "Now, what is the {figure} of the {part}? I have {value} here.",
    "The {part} says {value} where the {figure} is.",
    "Is {value} the {figure} of the {part}? Yes.",
)
NEW_FIGURES = (
    "From this week on we use {value} in place of {old} for the {part}, {figure} I mean.",
    "I moved the {part} from {old} to {value}, so forget the former {figure}.",
    "{part}: {figure} goes from {old} to {value}.",
)
FIGURE_QUESTION = "What is the {figure} of the {part} now?"

# What nobody ever spoke about.
UNHEARD = (
    "fingerprints",
    "solar panels",
    "barcodes",
    "sponsorship",
    "wheelchair ramps",
    "insurance",
)
UNHEARD_QUESTIONS = (
    "What did we settle for {unheard} of the {part}?",
    "How does the {part} handle {unheard}?",
)
FOREIGN_QUESTIONS = (
    "Who won the chess tournament in Oslo?",
    "How much sugar goes into a plum cake?",
    "What is the capital of Paraguay?",
    "Which vaccine does a traveller to Peru need?",
    "How old do tortoises get?",
    "Who painted the ceiling of the chapel?",
    "When was the suspension bridge built?",
    "What does the word ostinato mean?",
)

SMALL_TALK = (
    "Good morning, all of you.",
    "I am late, start without me.",
    "Can you hear me now?",
    "Thanks, that helps a lot.",
    "Let us go on after lunch.",
    "I shall write that down.",
    "No, I do not think so.",
    "Fine with me.",
    "Say that again, the line was bad.",
    "That is it for today.",
)
